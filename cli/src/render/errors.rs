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
    if in_one_row {
        table.row("in the mean", in_the_mean(errors));
    } else {
        for (label, text) in means(errors) {
            table.detail(label, text);
        }
    }
}

/// The errors of all values together.
fn means(errors: &Errors) -> impl Iterator<Item = (&'static str, String)> {
    let psnr = errors.psnr.map(|psnr| ("PSNR", format!("{psnr:.1} dB")));
    let means = [("mean error", errors.mean), ("bias", errors.bias), ("RMSE", errors.rmse)];
    means.map(|(label, mean)| (label, measured(mean))).into_iter().chain(psnr)
}

/// The same in one line.
pub(super) fn in_the_mean(errors: &Errors) -> String {
    means(errors).map(|(label, text)| format!("{label} {text}")).collect::<Vec<_>>().join(", ")
}
