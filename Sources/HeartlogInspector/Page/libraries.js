// What the libraries mean: titles, cards of items, the map, covers, the bibliography entry, the player.

const textLengthMax = 280;
const chaptersMax = 200;

let pictureCount = 0;

/** An SVG picture with a title and a description for those who do not see it. */
function picture(attributes, title, description, ...children) {
  const id = `picture-${++pictureCount}`;
  return svg("svg", { role: "img", "aria-labelledby": `${id}-title`, "aria-describedby": `${id}-desc`, ...attributes },
    svg("title", { id: `${id}-title` }, title), svg("desc", { id: `${id}-desc` }, description), children);
}

/** A value in one line, as the command line shows it. */
function lineOf(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(part => typeof part === "string" ? part : JSON.stringify(part)).join(", ");
  return JSON.stringify(value);
}

function titleOf(library, item) {
  const fields = item.fields || {};
  const known = knownLibraries.get(library) || {};
  const first = names => names.map(name => lineOf(fields[name])).find(text => text !== "") || "";
  const title = first([...(known.titleFields || []), "title", "name", "breed"]);
  const subtitle = first(known.subtitleFields || []);
  return [title, subtitle].filter(text => text !== "").join(" — ");
}

/** The first of the fields that is a number, or null. */
function numberIn(fields, ...names) {
  const name = names.find(name => Number.isFinite(fields[name]));
  return name === undefined ? null : fields[name];
}

/** Seconds as a player shows them: 3:36:15. */
function clockText(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = number => String(number).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

// MARK: Values

/** A value of a field as an element. A long text is cut. */
function valueOf(value, isSeconds = false) {
  if (isSeconds && Number.isFinite(value)) return el("span", {}, `${clockText(value)} (${value} s)`);
  if (value === true || value === false) return el("span", {}, value ? "yes" : "no");
  if (typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value)) return time(value);
  const text = lineOf(value);
  if (text.length <= textLengthMax) return el("bdi", { class: "value" }, text);
  return el("details", { class: "long" },
    el("summary", {}, bdi(`${Array.from(text.slice(0, 180)).slice(0, -1).join("")}…`)), el("bdi", { class: "value" }, text));
}

/** A definition list of [name, element or text]; null if there is nothing to define. */
function definitions(rows) {
  if (rows.length === 0) return null;
  return el("dl", { class: "fields" }, ...rows.flatMap(([name, value]) => [el("dt", {}, bdi(name)), el("dd", {}, value)]));
}

const secondsFields = new Set(["duration", "currentPosition", "skipForwardInterval", "skipBackwardInterval",
  "simulatedChapterLength", "rewindAfterInterruption"]);

/** The fields that a card does not show in another way, in the order of the library. */
function otherFields(library, item, shown) {
  const fields = item.fields || {};
  const order = ((knownLibraries.get(library) || {}).fields || []).map(field => field.name);
  const place = name => order.includes(name) ? order.indexOf(name) : order.length;
  return Object.keys(fields)
    .filter(name => !shown.includes(name) && name !== "@note" && !name.startsWith("@in/") && fields[name] !== null)
    .sort((one, other) => place(one) - place(other) || (one < other ? -1 : 1))
    .map(name => [name, valueOf(fields[name], secondsFields.has(name))]);
}

// MARK: Cards

/** What a library means for one item. */
function itemCard(library, item) {
  const fields = item.fields || {};
  const make = Object.hasOwn(cards, library) ? cards[library] : () => ({});
  const { shown = [], parts = [], first = [] } = make(item, fields);
  const collections = Object.keys(fields).filter(name => name.startsWith("@in/") && fields[name] !== null);
  const rows = [...first, ...otherFields(library, item, shown)];
  if (collections.length > 0) {
    rows.unshift(["in collections", el("ul", { class: "inline-list" },
      ...collections.map(name => el("li", {}, bdi(name.slice(4)))))]);
  }
  const note = fields["@note"] === undefined || fields["@note"] === null ? null
    : el("blockquote", { class: "note" }, el("span", { class: "label" }, "Note: "), valueOf(fields["@note"]));
  return el("div", { class: "card" }, parts, note, definitions(rows));
}

/** Of each library what a card shows apart from the fields: pictures, first rows of the list, fields that are in them. The title is a heading. */
const cards = {
  archives(item, fields) {
    return { shown: ["title"], parts: [drawnCover(lineOf(fields.title) || item.id)] };
  },
  tracks() {
    return { shown: ["title"] };
  },
  breeds(item, fields) {
    return { parts: [breedTile(lineOf(fields.breed) || item.id)], first: [["image", el("bdi", { class: "value" }, item.id)]] };
  },
  cities(item) {
    const place = placeOf(item);
    if (!place) return { shown: ["name"], parts: [el("p", {}, "Without coordinates, the city is on no map.")] };
    return { shown: ["name", "lat", "lon"], parts: [cityMap([place])], first: [["coordinates", coordinates(place)]] };
  },
  papers(item, fields) {
    return { shown: ["title", "authors", typeof fields.doi === "string" ? "doi" : ""], parts: [bibliographyEntry(item, fields)] };
  },
  books(item, fields) {
    const duration = numberIn(fields, "duration");
    return duration === null || duration <= 0 ? { shown: ["title"] } : bookPlayer(fields, duration);
  },
};

/** What is drawn of a text is always drawn in the same color. */
function hueOf(text) {
  let hash = 0;
  for (const character of text) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  return hash % 360;
}

/** The first letters of the first two words. */
function initials(text) {
  const words = text.normalize("NFC").match(/[\p{L}\p{N}]+/gu) || [];
  return words.slice(0, 2).map(word => Array.from(word)[0].toLocaleUpperCase()).join("") || "?";
}

/** A cover that is drawn: nothing is fetched. */
function drawnCover(title) {
  const hue = hueOf(title);
  return svg("svg", { class: "cover", viewBox: "0 0 100 100", "aria-hidden": "true" },
    svg("rect", { width: 100, height: 100, rx: 6, fill: `hsl(${hue} 45% 28%)` }),
    svg("rect", { x: 0, y: 78, width: 100, height: 4, fill: `hsl(${hue} 45% 60%)` }),
    svg("text", { x: 50, y: 58, "text-anchor": "middle", "font-size": 42, fill: "#fff" }, initials(title)));
}

/** A dog, in the color of its breed. */
function breedTile(breed) {
  const hue = hueOf(breed), dark = "#2b211a";
  const oval = (cx, cy, rx, ry, fill) => svg("ellipse", { cx, cy, rx, ry, fill });
  return svg("svg", { class: "cover", viewBox: "0 0 100 100", "aria-hidden": "true" },
    svg("rect", { width: 100, height: 100, rx: 6, fill: `hsl(${hue} 35% 28%)` }),
    oval(50, 52, 28, 28, `hsl(${hue % 40 + 15} 45% ${45 + hue % 30}%)`), oval(24, 48, 8, 21, dark), oval(76, 48, 8, 21, dark),
    oval(50, 64, 15, 12, "#f4ead9"), oval(40, 45, 3.5, 3.5, dark), oval(60, 45, 3.5, 3.5, dark), oval(50, 60, 5, 3.5, dark));
}

/** One entry of a bibliography, as text to copy. */
function bibliographyEntry(item, fields) {
  const authors = lineOf(fields.authors);
  const year = /^\d{4}/.exec(lineOf(fields.publishedDate));
  const title = lineOf(fields.title) || item.id;
  const isArXiv = /^(\d{4}\.\d{4,5}|[a-z-]+(\.[A-Z]{2})?\/\d{7})(v\d+)?$/.test(item.id);
  const category = Array.isArray(fields.categories) && typeof fields.categories[0] === "string" ? ` [${fields.categories[0]}]` : "";
  const doi = typeof fields.doi === "string" ? fields.doi : /^10\.\d{4,}\//.test(item.id) ? item.id : "";
  const parts = [];
  if (authors) parts.push(bdi(authors), year ? ` (${year[0]}). ` : ". ");
  else if (year) parts.push(`(${year[0]}). `);
  parts.push(el("cite", {}, bdi(title)), /[.?!]$/.test(title) ? " " : ". ");
  if (isArXiv) parts.push(`arXiv:${item.id}${category}. `);
  if (doi) parts.push(bdi(`https://doi.org/${doi}`));
  return el("p", { class: "entry" }, ...parts);
}

/** A book as its player shows it: chapters, bookmarks and the position on a line. */
function bookPlayer(fields, duration) {
  const position = Math.min(duration, Math.max(0, numberIn(fields, "currentPosition") ?? 0));
  const share = position / duration;
  const speed = numberIn(fields, "playbackSpeed", "speed");
  const chapters = marksIn(fields.chapters, duration);
  const bookmarks = marksIn(fields.bookmarks, duration);
  const current = chapters.filter(chapter => chapter.start <= position).pop();
  const state = share >= 0.99 ? "done" : share > 0 ? "in progress" : "at the beginning";
  const summary = `${clockText(position)} of ${clockText(duration)}, ${Math.floor(share * 100)} %, ${state}`;
  const x = seconds => 1000 * seconds / duration;
  const line = picture({ class: "player", viewBox: "0 0 1000 40", preserveAspectRatio: "none" }, "Playback position",
    `${summary}. ${chapters.length} chapters, ${bookmarks.length} bookmarks.`,
    svg("rect", { class: "track", x: 0, y: 14, width: 1000, height: 12 }),
    svg("rect", { class: "played", x: 0, y: 14, width: x(position), height: 12 }),
    chapters.map(({ start }) => svg("line", { class: "chapter", x1: x(start), x2: x(start), y1: 8, y2: 32 })),
    bookmarks.map(({ start }) => svg("path", { class: "bookmark", d: `M${x(start) - 6} 0h12v12l-6 -5l-6 5z` })),
    svg("rect", { class: "position", x: Math.min(996, x(position)), y: 4, width: 4, height: 32 }));
  const rows = [["position", summary]];
  if (current) rows.push(["chapter", bdi(current.title)]);
  if (speed !== null) rows.push(["speed", `${speed} ×`]);
  const lists = [marksList("chapters", chapters, fields.chapters), marksList("bookmarks", bookmarks, fields.bookmarks)];
  return { shown: ["title", "duration", "currentPosition", "playbackSpeed", "speed", ...chapters.length ? ["chapters"] : [], ...bookmarks.length ? ["bookmarks"] : []],
    parts: [line, ...lists], first: rows };
}

/** Chapters and bookmarks: numbers of seconds, or objects with a time and perhaps a title. */
function marksIn(list, duration) {
  if (!Array.isArray(list)) return [];
  return list.slice(0, chaptersMax).map((mark, index) => {
    const object = mark !== null && typeof mark === "object" ? mark : { time: mark };
    return { start: numberIn(object, "startTime", "start", "time", "position"), title: lineOf(object.title ?? object.name) || `${index + 1}` };
  }).filter(({ start }) => start !== null && start >= 0 && start <= duration);
}

function marksList(name, marks, all) {
  if (marks.length === 0) return null;
  const count = all.length > marks.length ? `${marks.length} of ${all.length}` : marks.length;
  return el("details", {}, el("summary", {}, `${name}: ${count}`),
    el("ol", { class: "marks" }, ...marks.map(({ start, title }) =>
      el("li", {}, `${clockText(start)} `, bdi(title)))));
}

// MARK: The map

/** Where a city is; null without valid coordinates. */
function placeOf(item) {
  const { lat, lon } = item.fields || {};
  if (!Number.isFinite(lat) || !Number.isFinite(lon) || Math.abs(lat) > 90 || Math.abs(lon) > 180) return null;
  return { lat, lon, name: lineOf(item.fields.name) || item.id };
}

function degrees(value, positive, negative) {
  return `${Math.abs(value)}°${value > 0 ? ` ${positive}` : value < 0 ? ` ${negative}` : ""}`;
}

function coordinates({ lat, lon }) {
  return `${degrees(lat, "N", "S")}, ${degrees(lon, "E", "W")}`;
}

/** The part of the world that is drawn: twice as wide as high, with room around the places. */
function mapExtent(places) {
  const lats = places.map(place => place.lat), lons = places.map(place => place.lon);
  const [south, north, west, east] = [Math.min(...lats), Math.max(...lats), Math.min(...lons), Math.max(...lons)];
  const height = Math.min(180, Math.max(places.length === 1 ? 90 : 20, (north - south) * 1.4, (east - west) * 0.6));
  const middle = (low, high, half, limit) => Math.max(-limit + half, Math.min(limit - half, (low + high) / 2));
  return { top: middle(south, north, height / 2, 90) + height / 2, left: middle(west, east, height, 180) - height, height };
}

/** A map without tiles: an equirectangular graticule with a dot for each place. */
function cityMap(places) {
  const { top, left, height } = mapExtent(places);
  const scale = 300 / height;
  const x = lon => (lon - left) * scale, y = lat => (top - lat) * scale;
  const step = [1, 2, 5, 10, 15, 30].find(step => height / step <= 4) || 30;
  const lines = [], labels = [];
  const label = (text, px, py, kind) => {
    const element = el("span", { class: `map-label ${kind}`, "aria-hidden": "true" }, bdi(text));
    element.style.left = `${px / 6}%`;
    element.style.top = `${py / 3}%`;
    labels.push(element);
  };
  for (let lon = Math.ceil(left / step) * step; lon <= left + 2 * height; lon += step) {
    lines.push(svg("line", { class: lon === 0 ? "axis" : "", x1: x(lon), x2: x(lon), y1: 0, y2: 300 }));
    if (x(lon) > 40 && x(lon) < 570) label(degrees(lon, "E", "W"), x(lon), 300, "degree-x");
  }
  for (let lat = Math.ceil((top - height) / step) * step; lat <= top; lat += step) {
    lines.push(svg("line", { class: lat === 0 ? "axis" : "", x1: 0, x2: 600, y1: y(lat), y2: y(lat) }));
    if (y(lat) > 15 && y(lat) < 270) label(degrees(lat, "N", "S"), 0, y(lat), "degree-y");
  }
  const boxes = [];
  for (const place of places.length <= 20 ? places : []) {
    const [px, py, length] = [x(place.lon), y(place.lat), 14 + 13 * place.name.length];
    const sides = [["place", px + 6, px + length], ["place before", px - length, px - 6]];
    // A name stands where it covers neither a dot nor another name; in a map of one place always.
    const free = sides.find(([, from, to]) => from > 0 && to < 600
      && !places.some(other => x(other.lon) > from && x(other.lon) < to && Math.abs(y(other.lat) - py) < 16)
      && !boxes.some(box => box.from < to && box.to > from && Math.abs(box.py - py) < 28)) || (places.length === 1 ? sides[0] : null);
    if (!free) continue;
    boxes.push({ from: free[1], to: free[2], py });
    label(place.name, px, py, free[0]);
  }
  const list = places.map(place => `${place.name}: ${coordinates(place)}`).join("; ");
  const drawn = picture({ viewBox: "0 0 600 300" }, places.length === 1 ? `Map with ${places[0].name}` : `Map with ${places.length} cities`, list,
    svg("g", { class: "graticule" }, lines),
    places.map(place => svg("circle", { class: "place", cx: x(place.lon), cy: y(place.lat), r: 8 },
      svg("title", {}, `${place.name}: ${coordinates(place)}`))));
  return el("div", { class: "map" }, drawn, ...labels);
}

// MARK: Whole libraries

const openViews = new Map([["cities", true]]);

/** A picture of the items of a library, which can be closed; null if it has none. */
function libraryView(library, items) {
  const view = library === "cities" ? citiesView(items) : ["archives", "books", "breeds"].includes(library) ? coversView(library, items) : null;
  if (items.length === 0 || view === null) return null;
  const details = el("details", { class: "library-view", open: openViews.get(library) === true,
    ontoggle: () => openViews.set(library, details.open) }, el("summary", {}, library === "cities" ? "Map" : "Covers"), view);
  return details;
}

function citiesView(items) {
  const places = items.map(placeOf).filter(place => place !== null);
  const missing = items.length - places.length;
  if (places.length === 0) return null;
  return el("figure", {}, cityMap(places), missing > 0 ? el("figcaption", {}, `${missing} without coordinates`) : null);
}

function coversView(library, items) {
  return el("ul", { class: "covers" }, items.map(item => {
    const title = titleOf(library, { fields: { ...item.fields, author: null, creators: null } }) || item.id;
    return el("li", {}, library === "breeds" ? breedTile(title) : drawnCover(title), bdi(title));
  }));
}
