//! Times are numbers and units. The same numbers in other units, or in another calendar, are other times.

use anyhow::bail;
use serde_json::{Map, Value};

use crate::error::Result;

/// Refuses to compare the numbers of times or durations whose attributes give them other units, or times another calendar. `least`
/// is the least of them; without one, there are none.
///
/// # Errors
/// The attributes, by CF 1.12, section 4.4; units that only look different, as `hours since 2000-1-1` and
/// `h since 2000-01-01 00:00:00Z`, are the same. Units that differ and are not understood are an error.
pub(crate) fn refuse_other_times(
    a: &Map<String, Value>,
    b: &Map<String, Value>,
    least: Option<f64>,
) -> Result<()> {
    let units = [a, b].map(|attributes| attributes.get("units").and_then(Value::as_str));
    let ([Some(units_a), Some(units_b)], Some(least)) =
        (units.map(|units| units.map(str::trim)), least)
    else {
        return Ok(());
    };
    if !is_time(units_a) && !is_time(units_b) {
        return match seconds(units_a).zip(seconds(units_b)) {
            Some((a, b)) if a != b => bail!(
                "its durations are in {units_a:?} in one and in {units_b:?} in the other, so that equal numbers are different \
                 durations; write both in the same units"
            ),
            _ => Ok(()),
        };
    }
    let time = Reference::of(units_a);
    if units_a != units_b && (time.is_none() || time != Reference::of(units_b)) {
        bail!(
            "its times are {units_a:?} in one and {units_b:?} in the other, so that equal numbers are different times; \
             write both in the same units"
        );
    }
    let is_after_reform = time.is_some_and(|time| time.is_after_reform(least));
    let [calendar_a, calendar_b] =
        [a, b].map(|attributes| calendar(attributes.get("calendar"), is_after_reform));
    if calendar_a != calendar_b {
        bail!(
            "its times are in the calendar {calendar_a:?} in one and {calendar_b:?} in the other, so that equal numbers are \
             different times; write both in the same calendar"
        );
    }
    Ok(())
}

/// One name of a calendar that may have several. After the Gregorian reform, the standard calendar is the proleptic one, and xarray
/// writes either.
fn calendar(attribute: Option<&Value>, is_after_reform: bool) -> String {
    let name = match attribute {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(name)) => name.trim().to_lowercase(),
        Some(other) => other.to_string(),
    };
    match name.as_str() {
        "" | "gregorian" => "standard".to_owned(),
        "proleptic_gregorian" if is_after_reform => "standard".to_owned(),
        "365_day" => "noleap".to_owned(),
        "366_day" => "all_leap".to_owned(),
        _ => name,
    }
}

/// The units of times that UDUNITS names, with their seconds.
const UNITS: [(&[&str], f64); 7] = [
    (&["d", "day", "days"], 86_400.0),
    (&["h", "hr", "hrs", "hour", "hours"], 3_600.0),
    (&["min", "mins", "minute", "minutes"], 60.0),
    (&["s", "sec", "secs", "second", "seconds"], 1.0),
    (&["ms", "msec", "msecs", "millisec", "millisecs", "millisecond", "milliseconds"], 1e-3),
    (&["us", "microsec", "microsecs", "microsecond", "microseconds"], 1e-6),
    (&["ns", "nanosec", "nanosecs", "nanosecond", "nanoseconds"], 1e-9),
];

/// The seconds of a unit.
fn seconds(unit: &str) -> Option<f64> {
    let unit = unit.to_lowercase();
    UNITS.iter().find(|(names, _)| names.contains(&unit.as_str())).map(|(_, seconds)| *seconds)
}

/// Whether units count from an instant. UDUNITS has other words for `since`, which others than times have, too.
fn is_time(units: &str) -> bool {
    let mut before = "";
    for word in units.split_whitespace() {
        match word.to_lowercase().as_str() {
            "since" => return true,
            "after" | "from" | "ref" | "@" if seconds(before).is_some() => return true,
            _ => before = word,
        }
    }
    false
}

/// `hours since 2000-01-01 06:00:00 +01:00`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reference {
    /// The seconds of the unit.
    unit: f64,
    year: i64,
    month: u32,
    day: u32,
    /// Seconds from midnight in UTC.
    clock: f64,
}

impl Reference {
    /// `None` for units that are not understood wholly.
    fn of(units: &str) -> Option<Self> {
        let (unit, rest) = units.split_once(char::is_whitespace)?;
        let (since, date) = rest.trim_start().split_once(char::is_whitespace)?;
        if !since.eq_ignore_ascii_case("since") {
            return None;
        }
        let mut rest = Rest(date.trim());
        let sign = if rest.takes('-') { -1 } else { 1 };
        let year = sign * i64::from(rest.number(u32::MAX)?);
        let month = if rest.takes('-') { rest.number(12)? } else { return None };
        let day = if rest.takes('-') { rest.number(31)? } else { 1 };
        let clock = rest.clock()?;
        let is_date = month > 0 && day > 0;
        let reference = Self { unit: seconds(unit)?, year, month, day, clock };
        (is_date && rest.0.is_empty()).then_some(reference)
    }

    /// Whether the reference and all values are in 1583 or later: the Gregorian reform was in October 1582.
    fn is_after_reform(&self, least: f64) -> bool {
        let days = (self.year - 1583) as f64 * 365.0;
        self.year >= 1583 && least * self.unit >= -days * 86_400.0
    }
}

/// What is left of a text that is read.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    /// Whether it begins with a character, which is then read.
    fn takes(&mut self, character: char) -> bool {
        let rest = self.0.strip_prefix(character);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Digits, as a number of at most `max`.
    fn number(&mut self, max: u32) -> Option<u32> {
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        digits.parse().ok().filter(|number| *number <= max)
    }

    /// The time of day with its zone, in seconds of UTC; midnight if there is none.
    fn clock(&mut self) -> Option<f64> {
        if self.0.is_empty() {
            return Some(0.0);
        }
        if !(self.takes('T') || self.takes(' ')) {
            return None;
        }
        self.0 = self.0.trim_start();
        let hours = self.number(23)?;
        let minutes = if self.takes(':') { self.number(59)? } else { 0 };
        let seconds = if self.takes(':') { self.seconds()? } else { 0.0 };
        Some(f64::from(hours * 3_600 + minutes * 60) + seconds - self.zone()?)
    }

    /// Seconds with a fraction.
    fn seconds(&mut self) -> Option<f64> {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let end = self.0.find(|c| !is_part(c)).unwrap_or(self.0.len());
        let (number, rest) = self.0.split_at(end);
        self.0 = rest;
        number.parse().ok().filter(|seconds| *seconds < 60.0)
    }

    /// The seconds by which a time zone is before UTC.
    fn zone(&mut self) -> Option<f64> {
        self.0 = self.0.trim_start();
        if ["", "Z", "UTC", "GMT"].contains(&self.0) {
            self.0 = "";
            return Some(0.0);
        }
        let is_west = self.takes('-');
        if !is_west && !self.takes('+') {
            return None;
        }
        let digits = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let number = self.number(2_359)?;
        let (hours, minutes) = match (digits, self.takes(':')) {
            (1 | 2, true) => (number, self.number(59)?),
            (1 | 2, false) => (number, 0),
            (4, false) => (number / 100, number % 100),
            _ => return None,
        };
        let seconds = f64::from(hours * 3_600 + minutes * 60);
        Some(if is_west { -seconds } else { seconds })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_refused(a: &Value, b: &Value) -> bool {
        is_refused_from(a, b, Some(0.0))
    }

    fn is_refused_from(a: &Value, b: &Value, least: Option<f64>) -> bool {
        let [a, b] = [a, b].map(|one| one.as_object().unwrap());
        let refused = refuse_other_times(a, b, least).is_err();
        assert_eq!(refused, refuse_other_times(b, a, least).is_err(), "{a:?}, {b:?}");
        refused
    }

    fn units_are_refused(a: &str, b: &str) -> bool {
        is_refused(&json!({"units": a}), &json!({"units": b}))
    }

    #[test]
    fn units_that_look_different_are_the_same() {
        for same in [
            &[
                "hours since 2000-01-01",
                "h since 2000-01",
                "hr since 2000-1-1",
                "hour since 2000-1-1 00:00:00",
                "Hours  Since 2000-01-01T00:00:00.0",
                " hours since 2000-01-01 00:00:00Z ",
                "hours since 2000-01-01 0:0 UTC",
                "hours since 2000-01-01 00:00:00 -00:00",
                "hours since 2000-01-01 06:00+06",
                "hours since 2000-01-01 06:30 +0630",
            ][..],
            &["seconds since 1970-1-1 0:0:0.5 -6:00", "s since 1970-01-01T06:00:00.50"],
            &["days since -1-1-1", "d since -0001-01-01"],
            // What is not understood is equal to itself.
            &["days since 1-Jan-2000"],
            &["6 hours since 2000-01-01", "6 hours since 2000-01-01 "],
            &["degrees from north", "degree from north"],
        ] {
            for a in same {
                assert!(same.iter().all(|b| !units_are_refused(a, b)), "{a}");
            }
        }
    }

    #[test]
    fn other_units_are_other_times() {
        for (a, b) in [
            ("hours since 2000-01-01", "hours since 2001-01-01"),
            ("hours since 2000-01-01", "days since 2000-01-01"),
            ("hours since 2000-01-01", "hours since 2000-01-01 06:00"),
            ("hours since 2000-01-01", "hours since -2000-01-01"),
            ("hours since 2000-01-01", "hours since 2000-01-01 00:00:00 -06:00"),
            ("hours since 2000-01-01", "hours"),
            // Time zones, with and without a blank.
            ("hours since 2000-01-01 00:00:00+06:00", "hours since 2000-01-01 00:00:00-06:00"),
            ("hours since 2000-01-01T00:00:00+0600", "hours since 2000-01-01T00:00:00-0600"),
            ("hours since 2000-01-01 +06:00", "hours since 2000-01-01 06:00"),
            ("hours since 2000-01-01 00:00 +06:00", "hours since 2000-01-01 00:00:06"),
            ("hours since 2000-01-01 00:00 EST", "hours since 2000-01-01 00:00 UTC"),
            // Dates that are not CF's.
            ("days since 1-Jan-2000", "days since 1-Feb-2000"),
            ("days since 2000-Jan-01", "days since 2000-Feb-01"),
            ("days since 2000.01.01", "days since 2001.01.01"),
            ("days since 2000-01-01 12:00 AM", "days since 2000-01-01 12:00 PM"),
            ("days after 2000-01-01", "days after 2001-01-01"),
            ("6 hours since 2000-01-01", "3 hours since 2000-01-01"),
            ("ms since 2000-01-01", "m since 2000-01-01"),
            ("days since 99999999999-01-01", "days since 99999999998-01-01"),
        ] {
            assert!(units_are_refused(a, b), "{a}, {b}");
        }
    }

    #[test]
    fn calendars_matter_and_other_units_do_not() {
        let time = |calendar: &str| json!({"units": "days since 1850-01-01", "calendar": calendar});
        assert!(is_refused(&time("noleap"), &time("360_day")));
        assert!(!is_refused(&time("noleap"), &time("365_day")));
        assert!(!is_refused(&time("standard"), &time("Gregorian ")));
        assert!(!is_refused(&json!({"units": "K"}), &json!({"units": "degC"})));
        assert!(is_refused(&json!({"units": "days"}), &json!({"units": "hours"})));
        assert!(!is_refused(&json!({"units": "d"}), &json!({"units": "days"})));
        assert!(!is_refused(&json!({}), &json!({"units": "days since 1850-01-01"})));
        // Without an attribute, the calendar is the standard one.
        let without = json!({"units": "days since 1850-01-01"});
        assert!(is_refused(&time("360_day"), &without) && !is_refused(&time("standard"), &without));
    }

    #[test]
    fn the_standard_calendar_is_the_proleptic_one_after_the_reform() {
        let time = |date: &str, calendar: &str| json!({"units": format!("days since {date}"), "calendar": calendar});
        for (date, least, differs) in [
            ("1850-01-01", Some(0.0), false),
            // Without values.
            ("1-1-1", None, false),
            ("1850-01-01", Some(-90_000.0), false),
            ("2000-01-01", Some(-200_000.0), true),
            ("1582-10-01", Some(0.0), true),
            ("1-1-1", Some(0.0), true),
            ("-2000-01-01", Some(0.0), true),
        ] {
            let [a, b] = ["standard", "proleptic_gregorian"].map(|calendar| time(date, calendar));
            assert_eq!(is_refused_from(&a, &b, least), differs, "{date}, {least:?}");
        }
    }
}
