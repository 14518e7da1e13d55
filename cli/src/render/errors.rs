//! The errors of values, as rows of a table.

use recast_pack::report::Errors;
use recast_pack::text::measured;

use super::table::Table;

/// Adds the errors; `bound` follows the largest one. The means are one row, or details.
pub(super) fn rows(errors: &Errors, table: &mut Table, bound: &str, in_one_row: bool) {
    // The kind of error that was bounded comes first.
    if let Some(relative) = errors.max_relative {
        table.row("max error", format!("{} of the value{bound}", measured(relative)));
        if let Some(worst) = &errors.worst_relative {
            table.row("", worst.to_string());
        }
        table.row("absolute", measured(errors.max));
    } else {
        table.row("max error", format!("{}{bound}", measured(errors.max)));
    }
    if let Some(worst) = &errors.worst {
        table.detail("", worst.to_string());
    }
    let psnr = errors.psnr.map(|psnr| ("PSNR", format!("{psnr:.1} dB")));
    let means = [("mean error", errors.mean), ("bias", errors.bias), ("RMSE", errors.rmse)];
    let means = means.map(|(label, mean)| (label, measured(mean))).into_iter().chain(psnr);
    if in_one_row {
        let texts: Vec<String> = means.map(|(label, text)| format!("{label} {text}")).collect();
        table.row("in the mean", texts.join(", "));
    } else {
        for (label, text) in means {
            table.detail(label, text);
        }
    }
}
