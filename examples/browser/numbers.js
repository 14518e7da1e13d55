// Errors, ranges, and numbers as text.

/**
 * `decoded − original` of each element, in float64: NaN where both are NaN, Infinity where only one is. `largest` is the
 * largest absolute error, at element `at`; `lost` counts elements that are NaN on one side only.
 */
export function compare(decoded, original) {
  const exact = typeof decoded[0] === "bigint" && typeof original[0] === "bigint";
  const difference = exact ? (a, b) => Number(a - b) : (a, b) => Number(a) - Number(b);
  const errors = new Float64Array(decoded.length);
  let [largest, at, lost] = [0, 0, 0];
  for (let element = 0; element < errors.length; element++) {
    const [a, b] = [decoded[element], original[element]];
    // Infinities are equal, but have no difference.
    errors[element] = a === b ? 0 : difference(a, b);
    if (a === a && b === b) {
      const error = Math.abs(errors[element]);
      if (error > largest) [largest, at] = [error, element];
    } else if (a === a || b === b) {
      errors[element] = Infinity;
      if (lost++ === 0 && largest < Infinity) [largest, at] = [Infinity, element];
    }
  }
  return { errors, largest, at, lost };
}

/** The smallest and largest finite number, of elements that are not `missing`. */
export function range(values, missing) {
  let [low, high] = [Infinity, -Infinity];
  for (let element = 0; element < values.length; element++) {
    const value = Number(values[element]);
    if (!Number.isFinite(value) || missing[element]) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : { low: 0, high: 0 };
}

/** The round numbers between two, some four to seven. */
export function ticks(low, high) {
  if (!(high > low)) return [low];
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => (first + at) * step);
}

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A number as people write it: −1.5, 3.8×10⁻⁶. */
export function written(number, digits = 4) {
  if (typeof number === "bigint") return `${number}`.replace("-", "−");
  const shortest = String(Number(number.toPrecision(digits))).replace("-", "−");
  const text = number !== 0 && (Math.abs(number) < 1e-4 || Math.abs(number) >= 1e9) ? scientific(number, digits) : shortest;
  return text.replace("Infinity", "∞");
}

function scientific(number, digits) {
  if (!Number.isFinite(number)) return String(number).replace("-", "−");
  const [mantissa, exponent] = Number(number.toPrecision(digits)).toExponential().split("e");
  const power = exponent.replace(/[-+]/, "").replace(/\d/g, (digit) => SUPERSCRIPT[digit]);
  return `${mantissa.replace("-", "−")}×10${exponent.startsWith("-") ? "⁻" : ""}${power}`;
}

/** All digits of an element: the fewest that are this number and no other of its type. */
export function digits(value, values) {
  if (values instanceof Float32Array) {
    for (let count = 1; count <= 9; count++) {
      const short = Number(value.toPrecision(count));
      if (Math.fround(short) === value) return String(short);
    }
  }
  return String(value);
}

/** 1 536 → 1.5 KiB. */
export function size(bytes) {
  const power = Math.min(3, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  const number = bytes / 1024 ** power;
  return `${power === 0 ? number : number.toFixed(1)} ${["bytes", "KiB", "MiB", "GiB"][power]}`;
}

/** 16200 → 16 200, with a space that does not break. */
export const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u00a0");

/** Milliseconds with as many digits as browsers' clocks have. */
export const milliseconds = (time) => `${time < 10 ? time.toFixed(1) : Math.round(time)} ms`;

/** Units as people write them; those of CF for degrees Celsius are spelled out. */
export const unit = (units) => (/^(deg(rees?)?_?C(elsius)?|celsius)$/i.test(units) ? "°C" : (units ?? ""));
