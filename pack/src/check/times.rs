//! Times are numbers and units. The same numbers in other units are other times.

use anyhow::bail;
use serde_json::{Map, Value};

use crate::error::Result;

/// Refuses to compare the numbers of times whose attributes give them other units, or another calendar.
///
/// # Errors
/// The attributes, by CF 1.12, section 4.4; units that only look different, as `hours since 2000-1-1` and
/// `hours since 2000-01-01 00:00:00`, are the same.
pub(crate) fn refuse_other_units(a: &Map<String, Value>, b: &Map<String, Value>) -> Result<()> {
    let text = |attributes: &Map<String, Value>, name: &str| {
        attributes.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    let [units_a, units_b] = [a, b].map(|attributes| text(attributes, "units"));
    let Some((units_a, units_b)) = units_a.zip(units_b) else { return Ok(()) };
    let [time_a, time_b] = [&units_a, &units_b].map(|units| Units::of(units));
    if (time_a.is_some() || time_b.is_some()) && time_a != time_b {
        bail!(
            "its times are {units_a:?} in one and {units_b:?} in the other, so that equal numbers are different times; \
             write both in the same units"
        );
    }
    let calendars = [a, b].map(|attributes| text(attributes, "calendar"));
    if let ([Some(calendar_a), Some(calendar_b)], Some(time)) = (calendars, time_a)
        && time.calendar(&calendar_a) != time.calendar(&calendar_b)
    {
        bail!(
            "its times are in the calendar {calendar_a:?} in one and {calendar_b:?} in the other, so that equal numbers are \
             different times; write both in the same calendar"
        );
    }
    Ok(())
}

/// The year of the Gregorian reform.
const REFORM: f64 = 1582.0;

/// Units of times: `hours since 2000-01-01`.
#[derive(Debug, PartialEq)]
struct Units {
    /// The unit, without an s of its plural.
    unit: String,
    /// The numbers of the date and time from which it counts, without zeros at the end.
    since: Vec<f64>,
    /// Whether the year is before 0, or the time zone west of UTC.
    signs: Vec<bool>,
}

impl Units {
    fn of(units: &str) -> Option<Self> {
        let mut words = units.split_whitespace();
        let (unit, since) = (words.next()?, words.next()?);
        if !since.eq_ignore_ascii_case("since") {
            return None;
        }
        let date = words.collect::<Vec<_>>().join(" ");
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let parts = date.split(|c: char| !is_number(c)).filter(|part| !part.is_empty());
        let mut since: Vec<f64> = parts.filter_map(|part| part.parse().ok()).collect();
        while since.len() > 3 && since.last() == Some(&0.0) {
            since.pop();
        }
        let signs = vec![date.starts_with('-'), date.contains(" -") || date.contains("T-")];
        let unit = unit.to_lowercase().trim_end_matches('s').to_owned();
        Some(Self { unit, since, signs })
    }

    /// One name of a calendar that has several. From the Gregorian reform on, the standard calendar is the proleptic one, and
    /// xarray writes either.
    fn calendar(&self, name: &str) -> String {
        let is_after_reform = self.since.first().is_some_and(|year| *year > REFORM);
        match name.to_lowercase().as_str() {
            "gregorian" => "standard".to_owned(),
            "proleptic_gregorian" if is_after_reform => "standard".to_owned(),
            "365_day" => "noleap".to_owned(),
            "366_day" => "all_leap".to_owned(),
            other => other.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_refused(a: &Value, b: &Value) -> bool {
        let [a, b] = [a, b].map(|one| one.as_object().unwrap());
        refuse_other_units(a, b).is_err()
    }

    #[test]
    fn units_that_look_different_are_the_same() {
        let all = [
            "hours since 2000-01-01",
            "hour since 2000-1-1 00:00:00",
            "Hours since 2000-01-01T00:00:00.0",
        ];
        for a in all {
            for b in all {
                assert!(!is_refused(&json!({"units": a}), &json!({"units": b})), "{a}, {b}");
            }
        }
        for other in [
            "hours since 2001-01-01",
            "days since 2000-01-01",
            "hours since 2000-01-01 06:00",
            "hours since -2000-01-01",
            "hours since 2000-01-01 00:00:00 -06:00",
            "hours",
        ] {
            assert!(is_refused(&json!({"units": all[0]}), &json!({"units": other})), "{other}");
        }
    }

    #[test]
    fn calendars_matter_and_other_units_do_not() {
        let time = |calendar: &str| json!({"units": "days since 1850-01-01", "calendar": calendar});
        assert!(is_refused(&time("noleap"), &time("360_day")));
        assert!(!is_refused(&time("noleap"), &time("365_day")));
        assert!(!is_refused(&time("standard"), &time("proleptic_gregorian")));
        let early = |calendar: &str| json!({"units": "days since 1-1-1", "calendar": calendar});
        assert!(is_refused(&early("standard"), &early("proleptic_gregorian")));
        assert!(!is_refused(&early("standard"), &early("gregorian")));
        assert!(!is_refused(&json!({"units": "K"}), &json!({"units": "degC"})));
        assert!(!is_refused(&json!({}), &json!({"units": "days since 1850-01-01"})));
    }
}
