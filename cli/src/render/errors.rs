//! The errors of values, as rows of a table.

use recast_pack::Errors;
use recast_pack::text::measured;

use super::table::Table;

/// Adds the errors; `bound` follows the largest one.
pub(super) fn rows(errors: &Errors, table: &mut Table, bound: &str) {
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
    table.detail("mean error", measured(errors.mean));
    table.detail("bias", measured(errors.bias));
    table.detail("RMSE", measured(errors.rmse));
    if let Some(psnr) = errors.psnr {
        table.detail("PSNR", format!("{psnr:.1} dB"));
    }
}
