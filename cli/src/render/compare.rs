//! How far two arrays differ, for people.

use recast_pack::report::{Charts, GradientError, Metrics, Similarity};
use recast_pack::text::{count, measured, nan_pattern, number_of};
use recast_pack::{CompareReport, GroupComparison};

use super::counts::elements;
use super::errors;
use super::group::{Words, arrays, recommended, reports, required};
use super::report::Report;
use super::table::Table;

impl Report for CompareReport {
    fn rows(&self, table: &mut Table) {
        table.row("shape", format!("{:?}", self.shape));
        table.row("types", types(self));
        if let Some((least, greatest)) = self.range {
            table.row("range", format!("{least} to {greatest}"));
        }
        let counts = &self.counts;
        let special = counts.special;
        let kinds = [
            (special.nan, "NaN"),
            (special.missing, "missing"),
            (special.infinite, "infinite"),
            (special.fill, "the fill value"),
        ];
        table.row("elements", elements(counts.elements, &kinds));
        let only_in_b =
            [("NaN in B only", counts.became_nan), ("missing in B only", counts.became_missing)];
        for (label, number) in only_in_b.into_iter().filter(|(_, number)| *number > 0) {
            table.row(label, count(number));
        }
        if let Some(first) = &self.first_other_nan {
            let number = count(counts.other_nan);
            let [before, after] = [first.before, first.after].map(nan_pattern);
            let place =
                format!("first element {:?}, {before} in A and {after} in B", first.element);
            table.row("kinds of NaN", format!("{number} are NaN of another kind in B; {place}"));
        }
        errors::rows(&self.error, table, "", self.metrics.is_some());
        if let Some(found) = &self.metrics {
            metrics(found, table);
        }
        if let Some(recorded) = self.recorded {
            table.row(
                "bound",
                format!("the one that the attribute recast of B records: {recorded}"),
            );
        }
        if !self.requirements.is_empty() {
            table.lines("required", self.requirements.iter().map(ToString::to_string));
        }
        if let Some(recommended) = &self.recommended {
            table.row("recommended", recommended.to_string());
        }
        if let Some(over) = counts.over {
            table.row("over", count(over));
        }
        if let Some(hint) = self.hint() {
            table.row("hint", hint);
        }
    }

    fn charts(&self) -> Option<&Charts> {
        self.charts.as_ref()
    }

    fn failure(&self) -> Option<String> {
        Self::failure(self)
    }
}

/// How far the arrays of two groups differ: a line for each, and one for all.
impl Report for GroupComparison {
    fn rows(&self, table: &mut Table) {
        let words =
            Words { done: "compared as numbers", kept: "equal in bytes", failed: "not compared" };
        arrays(&self.arrays, &words, line, table);
        for (label, only) in [("only in A", &self.only_in_a), ("only in B", &self.only_in_b)] {
            if !only.is_empty() {
                table.lines(label, only);
            }
        }
        if reports(&self.arrays).all(|(_, report)| report.metrics.is_none()) {
            let means = reports(&self.arrays)
                .map(|(array, report)| format!("{array}: {}", errors::in_the_mean(&report.error)));
            table.detailed_lines("in the mean", means.collect::<Vec<_>>());
        }
        let all = &self.total;
        table.row("elements", count(all.elements));
        let reports = reports(&self.arrays);
        let each =
            reports.filter_map(|(array, report)| Some((array, report.recommended.as_ref()?)));
        recommended(each, table);
        if self.recorded {
            table.row(
                "bounds",
                "recorded in B (attribute recast); arrays without one must be equal",
            );
        }
        if let Some((over, arrays)) = all.over.zip(all.arrays_over) {
            let text = format!("{}, in {}", number_of(over, "element"), number_of(arrays, "array"));
            table.row("over", text);
        }
    }

    fn arrays(&self) -> Vec<(&str, &dyn Report)> {
        reports(&self.arrays).map(|(array, report)| (array, report as _)).collect()
    }

    fn failure(&self) -> Option<String> {
        Self::failure(self)
    }
}

/// The rows that `--metrics` adds.
fn metrics(found: &Metrics, table: &mut Table) {
    let correlation = found.correlation.map(|correlation| format!("{correlation:.10}"));
    table.row("correlation", correlation.as_deref().unwrap_or("none: all values of one are equal"));
    let gradients = found.gradients.iter().map(|GradientError { dimension, name, max }| {
        let name = name.as_ref().map_or_else(|| format!("axis {dimension}"), Clone::clone);
        format!("{} between neighbours along {name}", measured(*max))
    });
    if !found.gradients.is_empty() {
        table.lines("gradient", gradients.collect::<Vec<_>>());
    }
    let reason = found.no_dssim.as_ref().map(|reason| format!("none: {reason}"));
    let dssim = found.dssim.as_ref().map(|Similarity { least, mean, fields, at }| match fields {
        1 => format!("{least:.7}"),
        _ => format!("{least:.7} at {at:?}, mean {mean:.7} of {} fields", count(*fields)),
    });
    table.row("DSSIM", dssim.or(reason).unwrap_or_default());
}

fn types(report: &CompareReport) -> String {
    let [a, b] = report.data_types;
    if a == b { a.to_string() } else { format!("{a} and {b}") }
}

/// An array of two groups on one line.
fn line(report: &CompareReport) -> String {
    let types = types(report);
    let error = measured(report.error.max);
    let lost = match report.counts.became_nan + report.counts.became_missing {
        0 => String::new(),
        lost => format!(", {} NaN or missing in B only", count(lost)),
    };
    let kinds = match report.counts.other_nan {
        0 => String::new(),
        others => format!(", {} NaN of another kind in B", count(others)),
    };
    let over = report.counts.over.map_or_else(String::new, |over| {
        format!(", {} of {} over", count(over), count(report.counts.elements))
    });
    let allowed = report.recorded.map_or_else(String::new, |bound| format!("; recorded: {bound}"));
    let required = required(&report.requirements);
    let metrics = report.metrics.as_ref().map_or_else(String::new, |found| {
        let number = |number: Option<f64>| number.map_or("none".to_owned(), |n| format!("{n:.7}"));
        let dssim = found.dssim.as_ref().map(|dssim| dssim.least);
        let gradients = found.gradients.iter().map(|one| one.max).reduce(f64::max);
        let gradient = gradients.map(|max| format!(", gradient {}", measured(max)));
        format!(
            ", {}, correlation {}{}, DSSIM {}",
            errors::in_the_mean(&report.error),
            number(found.correlation),
            gradient.unwrap_or_default(),
            number(dssim)
        )
    });
    format!("{types}, max error {error}{metrics}{lost}{kinds}{over}{allowed}{required}")
}
