// Elements, bars and curves. Texts are set as text and never as markup: some of them come from other parties.

const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
const SVG = "http://www.w3.org/2000/svg";

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

export function section(title, ...children) {
  return element("section", {}, element("h2", {}, title), ...children.filter(Boolean));
}

export function table(title, columns, rows, {textColumns = 1, note = "", kind = ""} = {}) {
  const head = columns.map((name, place) => element("th", {scope: "col", class: place < textColumns ? "" : "number"}, name));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell, place) =>
    place === 0 ? element("th", {scope: "row"}, cell) : element("td", {class: place < textColumns ? "what" : "number", "data-name": columns[place]}, cell))));
  const made = element("div", {class: "wide"}, element("table", {class: kind}, element("caption", {}, title),
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body)));
  return note ? element("div", {}, made, element("p", {class: "note"}, note)) : made;
}

export function legend(entries) {
  return element("ul", {class: "legend"}, ...entries.map(([style, text]) => element("li", {},
    drawn("svg", {viewBox: "0 0 10 10", "aria-hidden": "true"}, drawn("rect", {width: 10, height: 10, class: `fill ${style}`})), text)));
}

// A bar for each row {name, parts: [[style, value]], text}, all to one scale.
export function bars(title, unit, rows) {
  const largest = Math.max(...rows.map((row) => row.parts.reduce((sum, part) => sum + part[1], 0)), 0) || 1;
  const lines = rows.map((row) => {
    let left = 0;
    const rects = row.parts.map(([style, value]) => {
      const width = (1000 * value) / largest;
      const rect = drawn("rect", {x: left, width, height: 10, class: `fill ${style}`});
      left += width;
      return rect;
    });
    const bar = drawn("svg", {viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true"}, ...rects);
    return element("tr", {}, element("th", {scope: "row"}, row.name), element("td", {class: "bar"}, bar),
      element("td", {class: "number"}, row.text));
  });
  return element("div", {}, element("table", {class: "bars"}, element("caption", {}, `${title} (${unit})`),
    element("tbody", {}, ...lines)));
}

// Curves {name, style, dash, points: [[x, y]]} with an axis of whole numbers below.
export function curves(title, xName, lines, say) {
  const points = lines.flatMap((line) => line.points);
  if (points.length === 0) return null;
  const narrow = window.innerWidth < 576;
  const [width, height, left, below] = [narrow ? 380 : 760, narrow ? 220 : 260, 64, 40];
  const xs = points.map((point) => point[0]);
  const ys = points.map((point) => point[1]);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const pad = (high - low || Math.abs(high) || 1) * 0.08;
  const [y0, y1] = [low - pad, high + pad];
  const placeX = (x) => left + ((width - left - 14) * (x - x0)) / (x1 - x0 || 1);
  const placeY = (y) => height - below - ((height - below - 12) * (y - y0)) / (y1 - y0);
  const parts = [];
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const value = low + share * (high - low);
    if (high === low && share !== 0.5) continue;
    parts.push(drawn("line", {x1: left, x2: width - 14, y1: placeY(value), y2: placeY(value), class: "grid"}),
      drawn("text", {x: left - 8, y: placeY(value) + 4, "text-anchor": "end"}, say(value)));
  }
  const ticks = TICKS.find((tick) => (x1 - x0) / tick <= (narrow ? 6 : 10)) ?? x1 - x0;
  for (let x = Math.max(x0, ticks > 1 ? Math.ceil(x0 / ticks) * ticks : x0); x <= x1; x += ticks) {
    parts.push(drawn("text", {x: placeX(x), y: height - below + 18, "text-anchor": "middle"}, String(x)));
  }
  parts.push(drawn("text", {x: (left + width) / 2, y: height - 4, "text-anchor": "middle"}, xName));
  for (const line of lines) {
    const places = line.points.map(([x, y]) => `${placeX(x).toFixed(1)},${placeY(y).toFixed(1)}`);
    parts.push(drawn("polyline", {points: places.join(" "), class: `line ${line.style}`, ...(line.dash ? {"stroke-dasharray": line.dash} : {})}));
    const [x, y] = line.points[line.points.length - 1];
    parts.push(drawn("circle", {cx: placeX(x), cy: placeY(y), r: 3.5, class: `fill ${line.style}`}));
  }
  return element("figure", {class: "plot"}, element("figcaption", {}, title),
    drawn("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title}, ...parts),
    legend(lines.map((line) => [line.style, line.name])));
}
