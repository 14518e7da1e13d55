// Maps on canvases, with one pixel for each element, and their colour bars.
import { count, ticks, written } from "./numbers.js";

/** The colour of missing elements, in no colour map. */
export const MISSING = [176, 180, 186];

const LEVELS = 256;

/** Colours between some that are given, evenly spaced. */
function colourMap(stops) {
  const channels = stops.match(/\w{6}/g).map((stop) => stop.match(/../g).map((channel) => Number.parseInt(channel, 16)));
  return Array.from({ length: LEVELS }, (_, level) => {
    const place = (level / (LEVELS - 1)) * (channels.length - 1);
    const before = Math.min(Math.floor(place), channels.length - 2);
    return channels[before].map((channel, at) => Math.round(channel + (channels[before + 1][at] - channel) * (place - before)));
  });
}

/** Viridis and magma of Matplotlib, whose lightness rises evenly, and RdBu of ColorBrewer, which is white at 0. */
export const COLOURS = {
  values: colourMap("440154 472d7b 3b528b 2c728e 21918c 28ae80 5ec962 addc30 fde725"),
  codes: colourMap("000004 1c1044 4f127b 812581 b5367a e55064 fb8761 fec287 fcfdbf"),
  errors: colourMap("2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b"),
};

/** The level of a value between the ends of a range; those beyond have the colours of the ends. */
function level(value, { low, high }) {
  if (!(high > low)) return LEVELS >> 1;
  const at = Math.round(((value - low) / (high - low)) * (LEVELS - 1));
  return Math.max(0, Math.min(LEVELS - 1, at));
}

/** Paints elements in C order; the first row is at the top, or at the bottom. */
function paint(canvas, { elements, missing, shape: [rows, columns], range, upwards }, colours) {
  canvas.height = rows;
  canvas.width = columns;
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const packed = Uint32Array.from(
    [...colours, MISSING],
    ([red, green, blue]) => (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0,
  );
  for (let at = 0, row = 0; row < rows; row++) {
    const first = (upwards ? rows - 1 - row : row) * columns;
    for (let column = 0; column < columns; column++, at++) {
      pixels[first + column] = packed[missing[at] ? LEVELS : level(Number(elements[at]), range)];
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** A new element with properties and children. */
export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/**
 * A figure with a title, a map and a colour bar. `onpoint(row, column)` is called where a person points; `mark` shows an
 * element.
 */
export class MapFigure {
  constructor(kind, title, onpoint) {
    this.kind = kind;
    this.canvas = make("canvas");
    this.cross = make("i", { className: "cross", hidden: true });
    this.plot = make("div", { className: "plot", tabIndex: 0, role: "img" }, this.canvas, this.cross);
    this.subtitle = make("p");
    this.body = make("div", { className: "body" });
    this.figure = make(
      "figure",
      { id: kind },
      make("figcaption", {}, make("h2", { textContent: title }), this.subtitle),
      this.body,
    );
    this.plot.addEventListener("pointermove", (event) => {
      const box = this.plot.getBoundingClientRect();
      const within = (part, length) => Math.max(0, Math.min(length - 1, Math.floor(part * length)));
      const [rows, columns] = this.map.shape;
      const row = within((event.clientY - box.top) / box.height, rows);
      onpoint(this.map.upwards ? rows - 1 - row : row, within((event.clientX - box.left) / box.width, columns));
    });
    this.plot.addEventListener("keydown", (event) => {
      const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
      if (down === undefined) return;
      event.preventDefault();
      const [rows, columns] = this.map.shape;
      const [row, column] = this.marked;
      const next = [row + (this.map.upwards ? -down : down), column + right];
      if (next[0] >= 0 && next[0] < rows && next[1] >= 0 && next[1] < columns) onpoint(...next);
    });
  }

  /** Draws a map: `elements`, which are `missing`, `shape`, `range`, `units`, axes, and the text under the title. */
  show(map) {
    this.map = map;
    const [rows, columns] = map.shape;
    paint(this.canvas, map, COLOURS[this.kind]);
    this.subtitle.textContent = map.subtitle;
    this.plot.style.aspectRatio = Math.max(0.75, Math.min(4, columns / rows));
    this.plot.ariaLabel = `${map.subtitle}: ${written(map.range.low)} to ${written(map.range.high)} ${map.units}`;
    const [down, across] = map.axes;
    const ends = map.upwards ? [down.last, down.first] : [down.first, down.last];
    this.body.replaceChildren(
      make("div", { className: "axis down" }, `${ends[0]}`, make("span", { textContent: down.name }), `${ends[1]}`),
      this.plot,
      make(
        "div",
        { className: "axis across" },
        `${across.first}`,
        make("span", { textContent: across.name }),
        `${across.last}`,
      ),
      this.#bar(map),
    );
    // Fewer elements than pixels keep their edges; of more, the browser shows means.
    this.canvas.style.imageRendering = columns > this.plot.clientWidth ? "auto" : "pixelated";
  }

  /** What there is to say instead of a map. */
  refuse(subtitle, ...children) {
    this.map = undefined;
    this.subtitle.textContent = subtitle;
    this.body.replaceChildren(make("div", { className: "instead" }, ...children));
  }

  #bar({ range: { low, high }, missing, units }) {
    const stops = COLOURS[this.kind].map((channels) => `rgb(${channels})`);
    const scale = make("div", { className: "scale" });
    scale.style.backgroundImage = `linear-gradient(to right, ${stops})`;
    const labels = make("div", { className: "labels" });
    for (const tick of ticks(low, high)) {
      const label = make("span", { textContent: written(tick, 3) });
      label.style.left = `${high > low ? ((tick - low) / (high - low)) * 100 : 50}%`;
      labels.append(label);
    }
    const swatch = make("i");
    swatch.style.backgroundColor = `rgb(${MISSING})`;
    const lacking = missing.reduce((sum, one) => sum + one, 0);
    const legend = make("p", { className: "legend" }, make("span", { textContent: units }));
    if (lacking > 0) legend.append(make("span", {}, swatch, `NaN in ${count(lacking)} elements`));
    return make("div", { className: "bar" }, scale, labels, legend);
  }

  mark(row, column) {
    this.marked = [row, column];
    if (!this.map) return;
    const [rows, columns] = this.map.shape;
    this.cross.hidden = false;
    this.cross.style.left = `${((column + 0.5) / columns) * 100}%`;
    this.cross.style.top = `${(((this.map.upwards ? rows - 1 - row : row) + 0.5) / rows) * 100}%`;
  }
}
