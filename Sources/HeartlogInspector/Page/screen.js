// The one screen. The slider has a moment, `here`, and while two are compared a second one, `there`. Each region asks
// the source for what it shows at the moment, one request at a time, and the newest moment wins.
//
// For pages.js, context.act({ title, words, preview, button }): opens the preview dialog. title: a sentence; words: the
// command to run when confirmed; preview: nodes or texts that say what will be written (of an undo the dry run is shown
// if there is none); button: what the button says. Resolves to true if it was done.

const $ = id => document.getElementById(id);
const state = {
  source: null, here: null, there: null, active: "here", filters: { library: "", replica: "", kind: "" },
  devices: [], libraries: new Map(), library: null, item: null, limit: 50, oldestFirst: false, showsBlame: false,
  band: null, view: null, outerViews: [], dragged: null, titles: new Map(), life: null, status: null, before: null, changes: 0,
};
const dayInMs = 24 * 60 * 60 * 1000, sittingGapMs = 30 * 60 * 1000, rowsAtOnce = 50, previewRowsMax = 200;

// MARK: Messages

// Errors stay until they are dismissed; the same sentence stands once.
function tell(error) {
  const text = String(error && error.message || error);
  if ([...$("messages").children].some(message => message.firstChild.textContent === visible(text))) return;
  $("messages").append(el("div", { class: "message" }, el("span", {}, text),
    el("button", { class: "quiet", "aria-label": "Dismiss", onclick: event => event.target.parentNode.remove() }, "×")));
}

function say(text, ...buttons) {
  const toast = el("div", { class: "toast" }, el("span", {}, text), buttons,
    el("button", { class: "quiet", "aria-label": "Dismiss", onclick: () => toast.remove() }, "×"));
  $("said").replaceChildren(toast);
  // What offers an undo stays.
  if (buttons.flat().length === 0) setTimeout(() => toast.remove(), 8000);
}

// Runs a command. An exit code other than 0, or one that the caller expects, is shown; damage (65) gives what is sound.
async function run(words, options = {}, expected = []) {
  const answer = await state.source.run(words, options);
  if (answer.exit !== 0 && !expected.includes(answer.exit)) tell(answer.error || `heartlog ${words[0]} ended with ${answer.exit}.`);
  return { ...answer, lines: answer.lines.filter(line => !(line.partial && line.findings && !line.library && !line.digest)) };
}

const faint = (...children) => el("span", { class: "faint" }, ...children);

// A button that a region makes again each time it is filled; `key` finds it then, for the focus and for keys.
const button = (key, text, onclick, attributes = {}) => el("button", { "data-key": key, onclick, ...attributes }, text);

// What is pressed, until it is released: if it were replaced in between, the click would be lost.
let pressed = null;
const filledLater = new Map();
addEventListener("pointerdown", event => { pressed = event.target; }, true);
for (const kind of ["pointerup", "pointercancel"]) {
  addEventListener(kind, () => setTimeout(() => {
    pressed = null;
    const waiting = [...filledLater];
    filledLater.clear();
    for (const [region, children] of waiting) fill(region, ...children);
  }), true);
}

// Replaces what a region shows and keeps the focus on what had it.
function fill(region, ...children) {
  if (pressed && region.contains(pressed)) return void filledLater.set(region, children);
  filledLater.delete(region);
  const focused = region.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  region.replaceChildren(...children.flat(Infinity).filter(child => child));
  if (focused) [...region.querySelectorAll("[data-key]")].find(element => element.dataset.key === focused)?.focus({ preventScroll: true });
}

// MARK: Moments

const eventID = event => `${event.replica}:${event.sequence}`;
const shortID = id => id.replace(/^([0-9a-f]{8})[0-9a-f]*/, "$1");
const stampMs = stamp => parseInt(stamp.slice(0, 12), 16);
function deviceName(replica) {
  const known = [...state.devices, ...state.facts?.devices || []].find(device => (device.replica || device.id) === replica);
  return known?.name || replica.slice(0, 8);
}

const filters = () => Object.fromEntries(Object.entries(state.filters).filter(([, value]) => value));

// The moment that the lists show, and the one before it if two are compared.
function moments() {
  const both = [state.there, state.here].filter(stop => stop);
  both.sort((one, other) => one.index - other.index || (one.isLive ? 1 : 0) - (other.isLive ? 1 : 0));
  return { to: both.at(-1), from: both.length > 1 ? both[0] : null };
}

const isBeforeAll = stop => !stop.isLive && stop.commit === null;
const at = stop => stop.isLive ? [] : ["--at", stop.commit];
const itemWords = (command, item, options = []) => [command, ...options, "--", item.library, item.id];

// Whether an event is after a stop, in the order of the log.
function isAfter(event, stop) {
  if (stop.isLive) return false;
  if (stop.commit === null) return true;
  if (event.replica === stop.replica) return event.commit > stop.number;
  return event.stamp > stop.stamp || (event.stamp === stop.stamp && event.replica > stop.replica);
}

// A stop among those that the filters take, also if they change while it is being looked for.
async function stopAt(place) {
  const asked = JSON.stringify(state.filters);
  const stop = await state.source.stop({ ...place, ...filters() });
  return asked === JSON.stringify(state.filters) ? stop : stopAt(place);
}

// `atLeast`: a stop to go on to where the place on the axis would not get any further.
const move = coalesced(async () => {
  const wanted = state.wanted, { isLive = false, atLeast = 0, ...place } = wanted, moved = state.active;
  let stop = await stopAt(place);
  if (stop.index < atLeast) stop = await stopAt({ index: atLeast });
  if (state.wanted === wanted) state.wanted = null;
  state[moved] = { ...stop, isLive };
  showHandles();
  refresh();
}, error => { state.wanted = null; tell(error); });

function moveTo(wanted) {
  state.wanted = wanted;
  return move();
}

const newest = { index: Number.MAX_SAFE_INTEGER, isLive: true };
const current = () => state[state.active] || { index: 0, axis: 0 };

// Keys may come faster than answers: a move starts from where the one before it goes. After the last stop comes "Live".
function moveBy(stops) {
  const { index, count, isLive } = { ...current(), ...state.wanted };
  if (stops > 0 && (isLive || index >= count)) return moveTo(newest);
  return moveTo({ index: Math.max(0, Math.min(count, index + stops)) });
}

function moveByTime(ms) {
  const { axis, index } = { ...current(), ...state.wanted };
  return moveTo({ axis: axis + ms, atLeast: ms > 0 ? Math.min(current().count, index + 1) : 0 });
}

// After a filter or the store changed: the same moments among the stops that there are now.
const findStopsAgain = coalesced(async () => {
  for (const name of ["here", "there"]) {
    for (let stop = null; state[name] && stop !== state[name];) {
      stop = state[name];
      const place = stop.isLive ? { index: newest.index } : stop.commit === null ? { index: 0 } : { commit: stop.commit };
      const found = { ...await stopAt(place), isLive: stop.isLive };
      if (state[name] === stop) state[name] = stop = found;
    }
  }
  showHandles();
  refresh();
}, tell);

function compare() {
  state.there = state.there ? null : { ...state.here };
  state.active = "here";
  showHandles();
  refresh();
  if (state.there) say("Move either handle: the lists show what differs between the two moments.");
}

// A date means its end, a minute its last millisecond, as for --at.
function momentOf(text) {
  const parts = text.trim().match(/^(\d{4})-(\d\d?)-(\d\d?)(?:[T ]+(\d\d?):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?\s*(Z|[+-]\d\d:?\d\d)?$/i);
  if (!parts) return null;
  const [, year, month, day, hour, minute, second, zone] = parts;
  const begin = [year, month - 1, day, hour || 0, minute || 0, second || 0].map(Number);
  const length = hour === undefined ? dayInMs : second === undefined ? 60000 : 1000;
  if (!zone) return hour === undefined ? +new Date(begin[0], begin[1], begin[2] + 1) - 1 : +new Date(...begin) + length - 1;
  const offset = /z/i.test(zone) ? 0 : (zone[0] === "-" ? -1 : 1) * (+zone.slice(1, 3) * 60 + +zone.slice(-2));
  return Date.UTC(...begin) - offset * 60000 + length - 1;
}

// MARK: Band

// A window may have no width for a moment.
const trackWidth = () => $("track").clientWidth || state.band?.width || 600;

// Where nothing happened for long, the band is folded: `pieces` are the spans with events, each with its place in pixels.
const loadBand = coalesced(async () => {
  const width = trackWidth(), bins = 400;
  const whole = await state.source.band({ bins, ...state.view, ...filters() });
  state.devices = whole.devices;
  const from = state.view?.from ?? whole.first, to = state.view?.to ?? whole.last;
  const pieces = piecesOf(whole.bins.map(bin => bin.some(count => count > 0)), from, to);
  placePieces(pieces, width);
  const parts = await Promise.all(pieces.map(piece => state.source.band({
    bins: Math.max(1, Math.round(piece.width / 4)), from: piece.from, to: piece.to, ...filters() })));
  pieces.forEach((piece, index) => Object.assign(piece, { bins: parts[index].bins, marks: parts[index].marks }));
  state.band = { first: whole.first, last: whole.last, count: whole.count, pieces, width };
  drawBand();
  showHandles();
  if (width !== trackWidth()) setTimeout(loadBand);
}, tell);

function piecesOf(used, from, to) {
  const step = (to - from) / used.length, pieces = [];
  let begin = null, last = 0;
  used.forEach((isUsed, index) => {
    if (!isUsed) return;
    if (begin !== null && index - last > used.length / 8 && (index - last) * step > dayInMs) { pieces.push([begin, last]); begin = null; }
    if (begin === null) begin = index;
    last = index;
  });
  if (begin !== null) pieces.push([begin, last]);
  return pieces.map(([first, last]) => {
    const start = Math.floor(from + first * step), end = Math.ceil(from + (last + 1) * step);
    return { from: first === 0 ? from : start, to: Math.max(last === used.length - 1 ? to : end, start + 1) };
  });
}

function placePieces(pieces, width) {
  const gap = 32, narrowest = 28;
  const free = width - gap * (pieces.length - 1) - narrowest * pieces.length;
  const total = pieces.reduce((sum, piece) => sum + piece.to - piece.from, 0);
  let x = 0;
  for (const piece of pieces) {
    piece.x = x;
    piece.width = narrowest + Math.max(0, free) * (piece.to - piece.from) / total;
    x += piece.width + gap;
  }
}

// Pixels of a place on the axis; between pieces the middle of the fold.
function xOf(axis) {
  const { pieces, width } = state.band;
  let end = 0;
  for (const piece of pieces) {
    if (axis < piece.from) return Math.max(0, (end + piece.x) / 2);
    if (axis <= piece.to) return piece.x + piece.width * (axis - piece.from) / (piece.to - piece.from);
    end = piece.x + piece.width;
  }
  return pieces.length ? end : width;
}

function axisOf(x) {
  const { pieces, first } = state.band;
  let axis = pieces.length ? pieces[0].from - 1 : first;
  for (const piece of pieces) {
    if (x < piece.x) break;
    axis = Math.round(piece.from + (piece.to - piece.from) * Math.min(1, (x - piece.x) / piece.width));
  }
  return axis;
}

const bandHeight = 56, barsTop = 16;

function drawBand() {
  const { pieces, width } = state.band;
  const sums = pieces.flatMap(piece => piece.bins.map(bin => bin.reduce((sum, count) => sum + count, 0)));
  const most = Math.max(1, ...sums);
  const drawing = svg("svg", { width, height: bandHeight + 18, role: "img", "aria-label": "Events over time, by device" },
    svg("defs", {}, ...state.devices.map((_, index) => pattern(index))));
  pieces.forEach((piece, index) => {
    drawing.append(svg("line", { class: "ground", x1: piece.x, x2: piece.x + piece.width, y1: bandHeight + .5, y2: bandHeight + .5 }));
    drawing.append(...bars(piece, most), ...ticks(piece));
    if (index > 0) drawing.append(fold(pieces[index - 1], piece));
  });
  drawing.append(...pieces.flatMap(piece => piece.marks.map(drawnMark)));
  $("band").replaceChildren(drawing);
  showLegend(pieces.flatMap(piece => piece.marks));
}

// Squares of the patterns tell the devices apart without color.
function pattern(index) {
  const shapes = [[], ["M-1 5L5 -1M2 8L8 2"], ["M0 3H6"], ["M3 0V6"], ["M0 0L6 6M-3 3L3 9M3 -3L9 3"], ["M0 3H6M3 0V6"]][index % 6];
  return svg("pattern", { id: `device-${index}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    svg("rect", { width: 6, height: 6, class: `device-${index % 6}` }), ...shapes.map(d => svg("path", { d, class: "hatch" })));
}

function bars(piece, most) {
  const step = piece.width / piece.bins.length, span = (piece.to - piece.from) / piece.bins.length;
  return piece.bins.flatMap((bin, index) => {
    const sum = bin.reduce((sum, count) => sum + count, 0);
    if (sum === 0) return [];
    const height = Math.max(3, Math.sqrt(sum / most) * (bandHeight - barsTop));
    const names = bin.map((count, device) => count ? `${deviceName(state.devices[device].replica)} ${count}` : "").filter(text => text).join(", ");
    let y = bandHeight;
    const parts = bin.map((count, device) => {
      const part = height * count / sum;
      y -= part;
      return count ? svg("rect", { x: piece.x + index * step, y, width: Math.max(1, step - 1), height: part, fill: `url(#device-${device})` }) : null;
    });
    return svg("g", {}, svg("title", {}, visible(`${timeText(piece.from + index * span)}: ${names}`)), ...parts.filter(part => part));
  });
}

function fold(before, after) {
  const x = (before.x + before.width + after.x) / 2;
  return svg("g", { class: "fold" }, svg("title", {}, `Nothing from ${timeText(before.to)} to ${timeText(after.from)}`),
    svg("rect", { x: x - 14, y: barsTop, width: 28, height: bandHeight - barsTop }),
    svg("path", { d: `M${x - 4} ${bandHeight + 4}l4 -8M${x} ${bandHeight + 4}l4 -8` }));
}

const tickSteps = [1, 5, 15, 30, 60, 120, 360, 720].map(minutes => minutes * 60000)
  .concat([1, 2, 7, 14, 30, 91, 182, 365, 1825, 3650, 36500].map(days => days * dayInMs));

// Dates below the bars, from midnights in the reader's zone on. The first of a piece has the year.
function ticks(piece) {
  const span = piece.to - piece.from, most = Math.max(1, Math.floor(piece.width / 80));
  const step = tickSteps.find(step => span / step <= most) || tickSteps.at(-1);
  const midnight = new Date(piece.from).setHours(0, 0, 0, 0);
  const places = [];
  for (let moment = midnight; moment <= piece.to && places.length <= most; moment += step) {
    const x = piece.x + piece.width * (moment - piece.from) / span;
    if (x > piece.x + (span < dayInMs ? 108 : 78) && x + 40 < piece.x + piece.width) places.push([x, tickText(moment, step < dayInMs)]);
  }
  const style = span < dayInMs && piece.width > 200 ? "minute" : "day";
  return [[Math.min(piece.x, state.band.width - 66), timeText(piece.from, style)], ...places].map(([x, text]) => svg("g", {},
    svg("line", { class: "tick", x1: x, x2: x, y1: bandHeight, y2: bandHeight + 4 }), svg("text", { x: x + 3, y: bandHeight + 13 }, text)));
}

function tickText(moment, hasClock) {
  const text = timeText(moment);
  return hasClock && !text.endsWith("00:00") ? text.slice(11) : text.slice(5, 10);
}

const markShapes = {
  conflict: "M0-5L5 0L0 5L-5 0Z", undo: "M4-4V4L-4 0Z", erasure: "M-4-4L4 4M4-4L-4 4",
  sync: "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0Z", loss: "M0-5L5 4H-5Z",
};

function markShape(kind) {
  return svg("path", { class: `mark ${kind}`, d: markShapes[kind] || markShapes.sync });
}

function drawnMark(mark) {
  const shape = svg("g", { class: "mark-place", transform: `translate(${xOf(mark.axis)} 7)` },
    svg("title", {}, `${mark.count > 1 ? `${mark.count} × ` : ""}${mark.kind}, ${timeText(mark.axis)}`), markShape(mark.kind));
  shape.addEventListener("pointerdown", event => {
    event.stopPropagation();
    goTo(mark.commit);
  });
  return shape;
}

function showLegend(marks) {
  const sample = content => { const drawing = svg("svg", { width: 12, height: 12, "aria-hidden": "true" }); drawing.append(content); return drawing; };
  const kinds = Object.keys(markShapes).filter(kind => marks.some(mark => mark.kind === kind));
  fill($("legend"), state.devices.map((device, index) => el("span", { class: "key" },
    sample(svg("rect", { width: 12, height: 12, fill: `url(#device-${index})` })), bdi(device.name || device.replica.slice(0, 8)))),
  kinds.map(kind => {
    const shape = svg("g", { transform: "translate(6 6)" }, markShape(kind));
    return el("span", { class: "key" }, sample(shape), kind);
  }));
}

// A view begins from what the band shows: while it is being loaded, the next one waits. Zooming out goes back to the view before.
let zooming = Promise.resolve();
const showView = view => zooming = zooming.then(() => { state.view = view(); return loadBand(); });
const zoomIn = () => showView(() => {
  const view = narrower();
  if (view) state.outerViews.push(state.view);
  return view || state.view;
});
const zoomOut = () => showView(() => state.outerViews.pop() || null);
const fit = () => showView(() => { state.outerViews = []; return null; });

// The half of what is seen that is around the handle, in pixels, so that folded gaps do not count; null if it is less than a second.
function narrower() {
  if (!state.band || state.band.pieces.length === 0) return null;
  const { first, last, pieces, width } = state.band;
  const around = xOf(Math.min(pieces.at(-1).to, Math.max(pieces[0].from, current().axis)));
  const view = { from: Math.max(first, axisOf(Math.max(0, around - width / 4))), to: Math.min(last, axisOf(around + width / 4)) };
  return view.to - view.from < 1000 ? null : view;
}

// MARK: Handles

function showHandles() {
  const { here, there, band } = state;
  if (!here) return;
  if (here.count === null) return fill($("moment"), el("strong", {}, "Live"), faint("reading the log…"));
  for (const name of ["here", "there"]) {
    const handle = $(name), stop = state[name];
    handle.hidden = !stop;
    handle.classList.toggle("active", !!there && state.active === name);
    if (!stop) continue;
    handle.setAttribute("aria-valuemax", stop.count);
    handle.setAttribute("aria-valuenow", stop.index);
    handle.setAttribute("aria-valuetext", visible(momentText(stop)));
    if (band) placeHandle(handle, stop);
  }
  $("here").firstChild.textContent = there ? (here.index >= there.index ? "B" : "A") : "";
  $("there").firstChild.textContent = there && there.index > here.index ? "B" : "A";
  showSpan();
  const stop = current(), { from, to } = moments();
  fill($("moment"), el("strong", {}, stop.isLive ? "Live" : stop.time ? time(stop.time, "second") : "Before the first commit"),
    faint(from ? [time(from.time || from.axis), " → ", to.isLive ? "now" : time(to.time || to.axis)]
      : stop.time ? [stop.isLive ? ["newest ", time(stop.time), ", "] : null, `${number(stop.index)} of ${plural(stop.count, "stop")}, `, bdi(deviceName(stop.replica)), ` c${stop.number}`]
        : `0 of ${plural(stop.count, "stop")}`));
  $("live").setAttribute("aria-pressed", !!stop.isLive);
  $("compare").setAttribute("aria-pressed", !!there);
  const canRestore = !state.source.readOnly && (from ? true : !here.isLive && here.commit !== null && here.index < here.count);
  $("restore").hidden = !canRestore;
  $("restore").textContent = from ? "Undo what is between…" : "Restore all…";
  $("restore-library").hidden = !canRestore || !!from || !state.library;
}

function momentText(stop) {
  if (stop.isLive) return "Live, the newest state";
  return stop.time ? `${timeText(stop.time, "second")}, ${stop.index} of ${stop.count}, ${deviceName(stop.replica)}` : "Before the first commit";
}

function placeHandle(handle, stop) {
  const dragged = state.dragged !== null && state.active === handle.id;
  const x = dragged ? state.dragged : stop.isLive ? state.band.width : xOf(stop.axis);
  const { pieces } = state.band;
  const isOutside = pieces.length > 0 && !stop.isLive && stop.commit !== null && (stop.axis < pieces[0].from || stop.axis > pieces.at(-1).to);
  handle.classList.toggle("outside", isOutside);
  handle.style.left = `${x}px`;
}

function showSpan() {
  const span = $("span");
  span.hidden = !state.there || !state.band;
  if (span.hidden) return;
  const [left, right] = ["here", "there"].map(name => parseFloat($(name).style.left) || 0).sort((one, other) => one - other);
  span.style.left = `${left}px`;
  span.style.width = `${right - left}px`;
}

// A handle that keys have moved out of what the band shows takes the band along.
function followHandle() {
  const stop = current();
  if (!state.view || stop.commit === null || (stop.axis >= state.view.from && stop.axis <= state.view.to)) return;
  const half = (state.view.to - state.view.from) / 2;
  state.view = { from: Math.max(state.band.first, Math.round(stop.axis - half)), to: Math.min(state.band.last, Math.round(stop.axis + half)) };
  loadBand();
}

function listenToTrack() {
  const track = $("track");
  const placeOf = event => Math.max(0, Math.min(state.band.width, event.clientX - track.getBoundingClientRect().left));
  const drag = event => {
    state.dragged = placeOf(event);
    placeHandle($(state.active), current());
    showSpan();
    moveTo(state.dragged >= state.band.width - 3 ? newest : { axis: axisOf(state.dragged) });
  };
  track.addEventListener("pointerdown", event => {
    if (!state.band || event.button !== 0) return;
    const x = placeOf(event), distance = name => Math.abs((parseFloat($(name).style.left) || 0) - x);
    state.active = state.there && distance("there") < distance("here") ? "there" : "here";
    track.setPointerCapture(event.pointerId);
    $(state.active).focus({ preventScroll: true });
    event.preventDefault();
    drag(event);
  });
  track.addEventListener("pointermove", event => { if (state.dragged !== null) drag(event); });
  for (const end of ["pointerup", "pointercancel"]) track.addEventListener(end, () => {
    state.dragged = null;
    showHandles();
  });
  for (const name of ["here", "there"]) $(name).addEventListener("focus", () => { state.active = name; showHandles(); });
  new ResizeObserver(() => { if (state.band && trackWidth() !== state.band.width) loadBand(); }).observe(track);
}

// MARK: Libraries, list and footer

function refresh() {
  // The other pages are about now, and some are slow: they do not follow the slider.
  if (state.isPage) return ["#conflicts", "#statistics"].includes(location.hash) ? showPage() : undefined;
  showStore();
  showItem();
  showEvents();
  if (state.dragged === null) followHandle();
}

async function statusAt(stop) {
  if (isBeforeAll(stop)) return { libraries: [], replicas: [], events: 0, commits: 0, digest: null };
  const status = (await run(["status", ...at(stop)])).lines[0] || { libraries: [], replicas: [] };
  for (const library of status.libraries) if (!state.libraries.has(library.name)) state.libraries.set(library.name, library);
  return status;
}

const showStore = coalesced(async () => {
  const { from, to } = moments(), { library, limit } = state;
  const match = $("search").value.trim(), all = $("all").checked;
  const words = ["list", ...(all ? ["--all"] : []), ...(match ? [`--match=${match}`] : ["--limit", String(limit)]), ...at(to), "--", library];
  const [now, then, list, changes] = await Promise.all([
    statusAt(to), from ? statusAt(from) : null,
    library && !isBeforeAll(to) ? run(words, { count: limit + 1 }) : { lines: [], total: 0 },
    library && from ? changesBetween(from, to, library) : [],
  ]);
  state.status = now;
  showLibraries(now, then);
  await showList({ library, match, all, limit, from, to, changes, items: list.lines.slice(0, limit), total: match ? list.total : totalOf(now, library, all) });
  showFooter(now);
}, tell);

async function changesBetween(from, to, library) {
  if (from.isLive) return [];
  if (!isBeforeAll(from)) return (await run(["diff", from.commit, ...at(to).slice(1), `--library=${library}`])).lines;
  const nothing = { isFavorite: false, favoritedDate: null, fields: {} };
  const answer = isBeforeAll(to) ? { lines: [] } : await run(["list", ...at(to), "--", library]);
  return answer.lines.map(item => ({ library, id: item.id, before: nothing, after: item }));
}

function totalOf(status, library, all) {
  const found = status.libraries.find(entry => entry.name === library);
  return found ? (all ? found.items : found.favorites) : 0;
}

function showLibraries(now, then) {
  const counts = (status, name) => status?.libraries.find(entry => entry.name === name)?.favorites || 0;
  fill($("library-names"), [...state.libraries.keys()].sort().map(name => {
    const count = counts(now, name), change = then ? count - counts(then, name) : 0;
    return el("li", {}, el("button", { "data-key": name, class: count ? "" : "faint", "aria-current": name === state.library ? "true" : null,
      onclick: () => chooseLibrary(name) }, bdi(name),
    change ? el("span", { class: "change" }, `${change > 0 ? "+" : "−"}${Math.abs(change)}`) : null, el("span", { class: "count" }, number(count))));
  }));
  if (state.library === null && state.libraries.size > 0) {
    const most = [...now.libraries].sort((one, other) => other.favorites - one.favorites)[0];
    chooseLibrary(most ? most.name : [...state.libraries.keys()][0]);
  }
}

function chooseLibrary(name) {
  if (state.library !== name) $("search").value = "";
  Object.assign(state, { library: name, limit: rowsAtOnce });
  showStore();
  showHandles();
}

const itemKey = (library, id) => `${library} ${id}`;

function learn(library, item) {
  const title = titleOf(library, item);
  if (title) state.titles.set(itemKey(library, item.id), title);
}

async function showList(list) {
  const { library, items, from, changes, match } = list;
  if (library !== state.library) return;
  items.forEach(item => learn(library, item));
  const changed = new Map(changes.map(change => [change.id, change]));
  const signOf = ({ before, after }) => after.isFavorite === before.isFavorite ? "changed" : after.isFavorite ? "added" : "gone";
  const signs = new Map(changes.map(change => [change.id, signOf(change)]));
  const key = JSON.stringify([library, match, list.all, list.limit, !!from]);
  const known = state.before?.key === key ? state.before.ids : null;
  state.before = { key, ids: new Set(items.map(item => item.id)) };
  const rows = items.map(item => itemRow(library, item, from ? signs.get(item.id) : known && !known.has(item.id) ? "new" : ""));
  if (from) await addGhosts(rows, list, changed);
  $("favorites-title").replaceChildren(library ? bdi(library) : "Favorites");
  const added = [...signs.values()].filter(sign => sign === "added").length, gone = [...signs.values()].filter(sign => sign === "gone").length;
  fill($("total"), `${plural(list.total, list.all ? "item" : "favorite")}${match ? " found" : ""}`, from ? `, +${added} −${gone}` : "");
  const nothing = !library ? "The store is empty." : match ? "Nothing found." : isBeforeAll(list.to) ? "Nothing was here yet." : "No favorites at this moment.";
  fill($("items"), rows.length ? rows : el("li", { class: "empty" }, nothing));
  const chosen = $("items").querySelector("[aria-current]") || $("items").querySelector("button");
  if (chosen) chosen.tabIndex = 0;
  $("more").hidden = list.total <= items.length;
  $("more").textContent = `More (${number(Math.max(0, list.total - items.length))})`;
  fill($("library-view"), libraryView(library, items));
}

function itemRow(library, item, sign) {
  const title = titleOf(library, item);
  const isChosen = state.item?.library === library && state.item.id === item.id;
  const words = { added: ["+", "added"], gone: ["−", "gone"], changed: ["~", "changed"] }[sign];
  const attributes = { tabindex: "-1", title: title || null, "aria-current": isChosen ? "true" : null };
  return el("li", { class: sign || null }, button(item.id, [
    words ? el("span", { class: "sign", role: "img", "aria-label": words[1] }, words[0]) : null,
    el("span", { class: item.isFavorite ? "heart on" : "heart", role: "img", "aria-label": item.isFavorite ? "favorite" : "not a favorite" }, item.isFavorite ? "♥" : "♡"),
    el("span", { class: "title" }, bdi(title || item.id)), title ? el("span", { class: "id" }, bdi(item.id)) : null,
    item.favoritedDate ? time(item.favoritedDate) : null], () => openItem(library, item.id), attributes));
}

// What was a favorite at the earlier moment only stands where it stood, struck through.
async function addGhosts(rows, { library, from, items, match, all }, changed) {
  const gone = [...changed.values()].filter(({ id, before, after }) => before.isFavorite && !after.isFavorite && !items.some(item => item.id === id))
    .slice(0, rowsAtOnce);
  const were = await Promise.all(gone.map(async change => {
    const shown = state.titles.has(itemKey(library, change.id)) ? null : await run(itemWords("show", change, at(from)), {}, [1]);
    if (shown?.lines[0]) learn(library, shown.lines[0]);
    return { id: change.id, title: state.titles.get(itemKey(library, change.id)) || "", favoritedDate: change.before.favoritedDate };
  }));
  const places = items.map(item => item.favoritedDate || "");
  for (const was of were) {
    if (match && !plain(was.title + was.id).includes(plain(match))) continue;
    const place = all ? -1 : places.findIndex(date => date < was.favoritedDate);
    const row = el("li", { class: "gone" }, el("button", { "data-key": was.id, tabindex: "-1", onclick: () => openItem(library, was.id) },
      el("span", { class: "sign", role: "img", "aria-label": "gone" }, "−"), el("span", { class: "heart", "aria-hidden": "true" }, "♡"),
      el("span", { class: "title" }, el("s", {}, bdi(was.title || was.id))), time(was.favoritedDate)));
    if (place < 0) { rows.push(row); places.push(was.favoritedDate); }
    else { rows.splice(place, 0, row); places.splice(place, 0, was.favoritedDate); }
  }
}

const plain = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

async function showFooter(status) {
  if (!state.facts) {
    const [devices, places] = await Promise.all([run(["devices"]), run(["places"], {}, [1, 64])]);
    state.facts = { devices: devices.lines, places: places.lines };
  }
  const heads = new Map(status.replicas.map(replica => [replica.id, replica.head]));
  const devices = state.facts.devices.map(device => {
    const seen = (device.signature?.witnesses || []).map(deviceName).join(", ");
    return el("span", { class: "key" }, bdi(device.name || device.id.slice(0, 8)), faint(` c${heads.get(device.id) || 0}`,
      device.isOwn ? ", this device" : "", device.isRetired ? ", retired" : "", seen ? [`, c${device.signature.commits} seen by `, bdi(seen)] : ""));
  });
  fill($("footer"), devices,
    state.facts.places.length ? el("span", { class: "key" }, "syncs with ", bdi(state.facts.places.map(place => place.place).join(", "))) : null,
    el("span", { class: "key" }, `${plural(status.events || 0, "event")} in ${plural(status.commits || 0, "commit")}`),
    status.digest ? el("span", { class: "key" }, "digest ", el("code", { title: status.digest }, status.digest.slice(0, 16))) : null,
    el("a", { href: "#verification" }, "Verification"));
}

// MARK: One item

function openItem(library, id) {
  state.item = { library, id };
  state.life = null;
  state.lifeLimit = rowsAtOnce * 2;
  if (state.isPage) location.hash = "#history";
  for (const button of $("items").querySelectorAll("button")) {
    if (button.dataset.key === id && state.library === library) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  if (state.library !== library) chooseLibrary(library);
  showItem().then(() => { if (innerWidth < 1000) $("item").scrollIntoView(); });
}

const showItem = coalesced(async () => {
  const { item, life, changes } = state, { from, to } = moments();
  if (!item) return fill($("life"), el("p", { class: "empty" }, "Choose a favorite, or an event below."));
  const shownAt = async stop => isBeforeAll(stop) ? null : (await run(itemWords("show", item, at(stop)), {}, [1])).lines[0] || null;
  const [now, then, log, blame] = await Promise.all([
    shownAt(to), from ? shownAt(from) : null,
    life || run(itemWords("log", item), {}, [1]).then(answer => ({ lines: answer.lines })),
    state.showsBlame ? run(itemWords("blame", item), {}, [1]) : null,
  ]);
  if (state.item !== item) return;
  // What was written meanwhile is asked for again.
  state.life = state.changes === changes ? log : null;
  const events = log.lines;
  const later = events.filter(event => isAfter(event, to));
  const title = now ? titleOf(item.library, now) : state.titles.get(itemKey(item.library, item.id));
  if (now) learn(item.library, now);
  $("item-title").replaceChildren(bdi(title || item.id));
  fill($("life"),
    el("p", { class: "state" }, el("span", { class: now?.isFavorite ? "heart on" : "heart", "aria-hidden": "true" }, now?.isFavorite ? "♥ " : "♡ "),
      now === null ? "Not known yet at this moment" : now.isFavorite ? ["Favorite since ", time(now.favoritedDate, "second")] : "Not a favorite",
      el("span", { class: "id" }, bdi(item.library), " ", bdi(item.id))),
    state.source.readOnly ? null : itemButtons(item, now, to, later),
    from ? differences(then, now) : null,
    now ? itemCard(item.library, now) : null,
    sinceWhen(blame),
    lifeOf(events, to));
}, tell);

function itemButtons(item, now, to, later) {
  const restored = later.filter(event => event.library);
  return el("div", { class: "bar" },
    button("toggle", "Toggle…", () => toggleItem(item).catch(tell)), button("note", "Note…", () => editNote(item).catch(tell)),
    restored.length ? button("put-back", `Put back to ${timeText(to.time || to.axis)}…`, () => putBack(item, restored)) : null);
}

function differences(then, now) {
  const names = [...new Set([...Object.keys(then?.fields || {}), ...Object.keys(now?.fields || {})])].sort();
  const rows = names.filter(name => JSON.stringify(then?.fields[name]) !== JSON.stringify(now?.fields[name]))
    .map(name => changeRow(name, then?.fields[name], now?.fields[name]));
  if (favoriteWord(then) !== favoriteWord(now)) rows.unshift(changeRow("favorite", favoriteWord(then), favoriteWord(now)));
  return el("div", { class: "differences" }, el("h3", {}, "Between the two moments"), rows.length ? rows : el("p", { class: "faint" }, "Nothing differs."));
}

function changeRow(name, old, now) {
  const value = (tag, value, label) => el(tag, { class: value === null || value === undefined ? "faint" : null, "aria-label": label }, bdi(clipped(valueText(value))));
  return el("div", { class: "change-row" }, el("span", { class: "name" }, bdi(name)), " ",
    old === undefined || old === null ? null : [value("del", old), " → "], value("ins", now));
}

const favoriteWord = item => item?.isFavorite ? `♥ since ${item.favoritedDate ? timeText(item.favoritedDate) : "then"}` : "♡ not a favorite";
// What a write says: of a membership, or of a field.
const writeWord = write => write.isFavorite === undefined ? clipped(valueText(write.value)) : favoriteWord(write);
const clipped = text => text.length > 240 ? `${text.slice(0, 240)}…` : text;

function sinceWhen(blame) {
  const opener = button("blame", "Since when?", () => { state.showsBlame = !state.showsBlame; showItem(); }, { class: "quiet", "aria-expanded": String(!!blame) });
  if (!blame) return opener;
  const writer = write => [time(write.time), ", ", bdi(write.name || deviceName(write.replica)), " ", el("code", {}, shortID(eventID(write)))];
  return [opener, el("p", { class: "faint" }, "As of now, whatever the slider shows:"), el("dl", { class: "blame" }, blame.lines.map(line => [
    el("dt", {}, bdi(line.register === "membership" ? "favorite" : line.field)),
    el("dd", {}, bdi(writeWord(line)), el("div", { class: "faint" }, writer(line)),
      line.replaced ? el("div", { class: "faint" }, "replaced ", bdi(writeWord(line.replaced)), ", ", writer(line.replaced)) : null,
      line.wonAgainst.map(lost => el("div", { class: "faint" }, line.isOpenConflict ? "in conflict with " : "won against ", bdi(writeWord(lost)), ", ", writer(lost))))]))];
}

// Each event of an item with what it changed: the values before it are those that the events before it wrote.
function withOldValues(events) {
  const fields = new Map();
  return events.map(event => {
    const changes = Object.entries(event.fields || {}).map(([name, now]) => {
      const old = fields.get(name);
      fields.set(name, now);
      return { name, old, now };
    }).filter(({ old, now }) => (old ?? null) !== null || now !== null);
    return { event, changes };
  });
}

function lifeOf(events, to) {
  const rows = withOldValues(events).filter(({ event }) => !$("fold").checked || !isPlayback(event));
  const hidden = events.length - rows.length;
  if (!state.oldestFirst) rows.reverse();
  const shown = rows.slice(0, state.lifeLimit);
  return [
    el("div", { class: "bar" }, el("h3", {}, plural(events.length, "event")),
      hidden ? faint(`${number(hidden)} playback positions folded`) : null,
      button("order", state.oldestFirst ? "Oldest first" : "Newest first", () => { state.oldestFirst = !state.oldestFirst; showItem(); }, { class: "quiet" })),
    el("ol", { class: "life" }, shown.map(row => lifeRow(row, to))),
    rows.length > shown.length ? button("more-life", `More (${number(rows.length - shown.length)})`, () => { state.lifeLimit += 200; showItem(); }) : null,
  ];
}

const isPlayback = event => event.library === "books" && event.action === "changed"
  && Object.keys(event.fields || {}).every(name => name === "currentPosition" || name === "lastPlayed");

function actionText(event) {
  if (event.withheld !== undefined) return "content withheld";
  if (event.erases !== undefined) return `erased ${plural(event.erases, "event")}`;
  if (event.library === undefined) return "of a newer version";
  if (event.action === "toggled") return event.isFavorite ? "♥ toggled on" : "♡ toggled off";
  return { added: "♥ added", removed: "♡ removed", changed: "· changed" }[event.action] || event.action;
}

function goButton(event, style) {
  return button(`go ${eventID(event)}`, time(event.time, style), () => goTo(`${event.replica}:c${event.commit}`), { class: "link", title: "Move the slider here" });
}

function undoButton(event, text) {
  if (state.source.readOnly || !event.library) return null;
  const id = eventID(event), title = `Undo ${shortID(id)}`;
  return button(`undo ${id}`, text, () => undo([id], title), { class: "quiet", title: "Undo this event…", "aria-label": title });
}

const isSame = ({ old, now }) => JSON.stringify(old) === JSON.stringify(now);

function lifeRow({ event, changes }, to) {
  const id = eventID(event), same = changes.filter(isSame).map(change => change.name);
  return el("li", { class: isAfter(event, to) ? "later" : null },
    el("div", { class: "bar" }, el("strong", {}, actionText(event)),
      goButton(event, "second"), eventFacts(event), undoButton(event, "Undo…")),
    event.favoritedDate ? el("div", { class: "change-row" }, "as of ", time(event.favoritedDate)) : null,
    changes.filter(change => !isSame(change)).map(({ name, old, now }) => changeRow(name, old, now)),
    same.length ? el("div", { class: "change-row faint" }, "written again, unchanged: ", bdi(same.join(", "))) : null,
    (event.conflicts || []).map(fate => fateOf(event, fate)));
}

const eventFacts = event => faint(bdi(deviceName(event.replica)), " ", el("code", { title: eventID(event) }, shortID(eventID(event))),
  event.origin && event.origin !== "cli" ? [", ", bdi(event.origin)] : null);

// Which of two devices' writes is shown, and a button for the other one while the conflict is open.
function fateOf(event, fate) {
  const name = fate.register === "membership" ? "favorite" : fate.field;
  const value = fate.register === "membership" ? (event.isFavorite ? "♥" : "♡") : clipped(valueText(event.fields?.[fate.field]));
  const others = (fate.openWith || []).map(shortID).join(", ");
  return el("div", { class: "fate" }, el("span", { class: "sign", "aria-hidden": "true" }, "◆ "), bdi(name), ": ", el(fate.isShown ? "b" : "s", {}, bdi(value)), " ",
    fate.openWith?.length ? `${fate.isShown ? "is shown" : "is not shown"}, in an open conflict with ${others}` : fate.lostTo ? `lost to ${shortID(fate.lostTo)}` : "is shown", " ",
    fate.openWith?.length && !fate.isShown && !state.source.readOnly
      ? button(`choose ${eventID(event)} ${name}`, "Choose this…", () => chooseSide(event.library, eventID(event)).catch(tell)) : null);
}

// MARK: Events by sitting

const showEvents = coalesced(async () => {
  const { here } = state, playback = !$("fold").checked;
  const question = { count: 120, playback, ...filters() };
  if (isBeforeAll(here)) return fill($("sittings"), el("p", { class: "empty" }, "Before the first commit."));
  const [events, later] = await Promise.all([
    state.source.events({ ...question, upTo: here.isLive ? undefined : here.commit }), here.isLive ? [] : eventsAfter(here, question)]);
  $("events-title").textContent = here.isLive ? "Newest events" : "Events up to this moment";
  // Some later events stand above the line, so that one sees where the moment is.
  const rows = sittings(events.concat(later), here);
  fill($("sittings"), rows.length ? rows : el("p", { class: "empty" }, "No events."));
  state.unnamed = events.concat(later);
  learnTitles();
  // The later ones are above: the moment itself is what one sees.
  const place = `${here.commit} ${here.isLive}`, now = $("sittings").querySelector(".sitting:not(.later)");
  if (state.placed !== place && now) $("sittings").scrollTop = Math.max(0, now.offsetTop - 52);
  state.placed = place;
}, tell);

async function eventsAfter(stop, question) {
  if (stop.index >= stop.count) return [];
  const next = await state.source.stop({ index: stop.index + 4, ...filters() });
  const events = await state.source.events({ ...question, count: 12, upTo: next.commit });
  return events.filter(event => event.stamp && isAfter(event, stop)).slice(0, 6);
}

// Newest first. A gap of more than 30 minutes, or another device, begins a new sitting.
function sittings(events, here) {
  const groups = [];
  for (const event of events) {
    const last = groups.at(-1), moment = Date.parse(event.time), isLater = event.stamp ? isAfter(event, here) : false;
    const belongs = last && moment - last.end <= sittingGapMs && (!event.replica || !last.replica || event.replica === last.replica) && isLater === last.isLater;
    if (belongs) {
      last.events.push(event);
      last.end = Math.max(last.end, moment);
      last.replica = last.replica || event.replica;
    } else groups.push({ events: [event], begin: moment, end: moment, replica: event.replica, isLater });
  }
  return groups.reverse().map(group => el("div", { class: group.isLater ? "sitting later" : "sitting" },
    el("h3", {}, time(group.begin, "minute"), timeText(group.begin) === timeText(group.end) ? null : ["–", time(group.end, timeText(group.begin, "day") === timeText(group.end, "day") ? "clock" : "minute")],
      " ", group.replica ? bdi(deviceName(group.replica)) : null, group.isLater ? faint(" later") : null),
    el("ul", {}, group.events.reverse().map(eventRow))));
}

function eventRow(event) {
  if (event.folded) return el("li", { class: "faint" }, el("span", { class: "what" }, `⋯ ${plural(event.folded, "playback position")}`));
  const id = eventID(event), item = { library: event.library, id: event.item };
  if (event.library && event.fields) learn(event.library, { id: event.item, fields: event.fields });
  const names = Object.keys(event.fields || {});
  return el("li", {},
    goButton(event, "clock"),
    el("span", { class: "what" }, actionText(event)),
    event.library ? el("span", { class: "title" }, button(`open ${id}`,
      [faint(bdi(event.library), " "), el("bdi", { "data-title": itemKey(item.library, item.id) }, nameOf(item))],
      () => openItem(event.library, event.item), { class: "link" }),
    event.action === "changed" ? faint(" ", bdi(clipped(names.map(name => `${name} = ${valueText(event.fields[name])}`).join(", ")))) : null) : null,
    event.origin && event.origin !== "cli" ? faint(bdi(event.origin)) : null,
    el("code", { class: "faint", title: id }, shortID(id)),
    undoButton(event, "↶"));
}

// Events have ids only; the titles come after them, one at a time, and are kept.
const learnTitles = coalesced(async () => {
  const events = state.unnamed;
  for (const { library, item: id } of events.filter(event => event.library).slice(-60)) {
    const key = itemKey(library, id);
    if (state.titles.has(key)) continue;
    const answer = await state.source.run(itemWords("show", { library, id }));
    state.titles.set(key, (answer.lines[0] && titleOf(library, answer.lines[0])) || id);
    for (const place of document.querySelectorAll("[data-title]")) if (place.dataset.title === key) place.textContent = visible(state.titles.get(key));
    if (state.unnamed !== events) return;
  }
}, tell);

// MARK: Acts

// Shows what will be written; runs the words when confirmed. Resolves to true if it was done.
async function act({ title, words, preview, button = "Do it", ready = true, done }) {
  if (state.source.readOnly) return false;
  const dialog = $("preview");
  if (!preview && words[0] === "undo") ({ preview, ready } = await undoPreview(words));
  $("preview-title").textContent = visible(title);
  fill($("preview-content"), el("div", {}, preview));
  $("preview-error").textContent = "";
  $("preview-do").textContent = button;
  $("preview-do").hidden = !ready;
  dialog.showModal();
  (dialog.querySelector("textarea") || (ready ? $("preview-do") : $("preview-cancel"))).focus();
  return new Promise(resolve => {
    let isDone = false;
    dialog.onclose = () => resolve(isDone);
    $("preview-do").onclick = async () => {
      $("preview-do").disabled = true;
      try {
        const chosen = typeof words === "function" ? words() : words;
        const answer = await state.source.run(chosen);
        if (answer.exit !== 0) return void ($("preview-error").textContent = visible(answer.error || `The command ended with ${answer.exit}.`));
        isDone = true;
        dialog.close();
        say(done || answerText(chosen, answer), ["devices"].includes(chosen[0]) ? [] : el("button", { onclick: undoLast }, "Undo this…"));
        await storeChanged();
      } catch (error) {
        $("preview-error").textContent = visible(error.message);
      } finally {
        $("preview-do").disabled = false;
      }
    };
  });
}

function answerText(words, answer) {
  const summary = answer.lines.find(line => line.kind === "undo");
  if (summary) return `${plural(summary.restored, "value")} restored by ${plural(summary.events.length, "event")}.`;
  if (words[0] === "conflicts") return `${plural(answer.lines.length, "conflict")} resolved.`;
  const event = answer.lines[0];
  return event && event.item ? `Written: ${actionText(event)}, ${event.library} ${event.item}.` : "Done.";
}

async function undoPreview(words) {
  const answer = await state.source.run([...words, "--dry-run"]);
  const summary = answer.lines.find(line => line.kind === "undo");
  const lines = answer.lines.filter(line => line.kind !== "undo" && line.kind);
  const rows = lines.slice(0, previewRowsMax).map(line => {
    if (line.kind === "unreadable") return el("li", {}, `${shortID(eventID(line))} cannot be undone: its content cannot be read.`);
    const name = [bdi(state.titles.get(itemKey(line.library, line.id)) || line.id), faint(" ", bdi(line.library))];
    if (line.kind === "kept") return el("li", { class: "faint" }, name, el("div", {}, "kept: ", bdi(line.field || "favorite"), " ", bdi(writeWord(line.later)), `, written later by ${shortID(eventID(line.later))}`));
    return el("li", {}, name, changeRow(line.field || "favorite", writeWord(line.replaced), writeWord(line)));
  });
  if (lines.length > rows.length) rows.push(el("li", {}, `and ${number(lines.length - rows.length)} more`));
  const ready = !!summary && summary.restored > 0;
  return { ready, preview: [
    el("p", {}, summary ? `${plural(summary.restored, "value")} will be restored, ${number(summary.kept)} kept.` : "", answer.error && !ready ? ` ${answer.error.replace(/^heartlog: /, "")}` : ""),
    el("ul", { class: "preview", tabindex: "0", "aria-label": "What will be written" }, rows)] };
}

const undo = (words, title, button = "Undo") => act({ title, words: ["undo", ...words], button }).catch(tell);
const undoLast = () => undo(["--last"], "Undo the last commit of this device");
const putBack = (item, later) => undo(later.map(eventID), `Put back ${nameOf(item)}`, "Put back");
const restoreLibrary = () => undo(["--after", state.here.commit, `--library=${state.library}`], `Restore ${state.library} to ${timeText(state.here.time)}`, "Restore");

async function restoreAll() {
  const { from, to } = moments();
  if (!from) return undo(["--after", state.here.commit], `Restore everything to ${timeText(state.here.time)}`, "Restore");
  const events = await state.source.events({ upTo: to.isLive ? undefined : to.commit, count: 2001, ...filters() });
  const between = events.filter(event => event.library && isAfter(event, from));
  if (between.length > 2000) return tell("More than 2,000 events are between the two moments. Bring them closer together, or restore to one moment.");
  if (between.length === 0) return tell("There are no events between the two moments.");
  return undo(between.map(eventID), `Undo the ${plural(between.length, "event")} between the two moments`);
}

// Acts write now, so they start from what is so now, whatever the slider shows.
const itemNow = async item => (await run(itemWords("show", item), {}, [1])).lines[0] || { isFavorite: false, fields: {} };
const nameOf = item => state.titles.get(itemKey(item.library, item.id)) || item.id;

async function toggleItem(item) {
  const now = await itemNow(item);
  await act({ title: `Toggle ${nameOf(item)}`, words: itemWords("toggle", item), button: now.isFavorite ? "Remove from favorites" : "Make it a favorite",
    preview: changeRow("favorite", favoriteWord(now), now.isFavorite ? favoriteWord(null) : "♥ since now") });
}

async function editNote(item) {
  const old = (await itemNow(item)).fields["@note"];
  const text = el("textarea", { rows: 5 });
  text.value = old || "";
  await act({ title: `Note of ${nameOf(item)}`, button: "Write the note",
    words: () => [...itemWords("set", item), text.value === "" ? "@note:=null" : `@note=${text.value}`],
    preview: [changeRow("note now", null, old), el("label", {}, "New note", text), el("p", { class: "faint" }, "An empty note is cleared. The old one stays in the log.")] });
}

async function chooseSide(library, event) {
  const conflicts = (await run(["conflicts", "--", library])).lines.filter(conflict => conflict.writes?.some(write => eventID(write) === event));
  const rows = conflicts.map(conflict => el("li", {}, bdi(nameOf(conflict)), ` ${conflict.field || "favorite"}`, conflict.writes.map(write =>
    el("div", { class: "change-row" }, el(eventID(write) === event ? "ins" : "del", {}, bdi(writeWord(write))), " ", eventFacts(write),
      write.isShown ? " shown now" : "", eventID(write) === event ? " chosen" : ""))));
  return act({ title: "Choose the other side", words: ["conflicts", "--choose", event], button: "Choose this side", ready: rows.length > 0,
    preview: rows.length ? el("ul", { class: "preview" }, rows) : "This conflict is resolved already." });
}

// MARK: Pages

function goTo(commit) {
  if (state.isPage) location.hash = "#history";
  return moveTo({ commit });
}

const showPage = coalesced(async () => {
  const page = pages.find(page => `#${page.name}` === location.hash);
  if (!page) return;
  $("page-title").textContent = page.title;
  const { library, replica } = filters();
  await page.show($("page-content"), { source: state.source, at: state.here.isLive ? null : state.here.commit, library, replica, goTo, openItem, act: preview => act(preview).catch(tell) });
}, tell);

function route() {
  const page = pages.find(page => `#${page.name}` === location.hash);
  state.isPage = !!page;
  $("screen").hidden = !!page;
  $("page").hidden = !page;
  document.body.classList.toggle("paged", !!page);
  for (const link of $("tabs").querySelectorAll("a")) {
    if (link.getAttribute("href") === (page ? location.hash : "#history")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  $("page-content").replaceChildren();
  if (page) showPage();
  else refresh();
}

// MARK: Keys

function stepInList(by) {
  const rows = [...$("items").querySelectorAll("button")];
  const place = rows.findIndex(row => row === document.activeElement || row.hasAttribute("aria-current"));
  const row = rows[Math.max(0, Math.min(rows.length - 1, place + by))];
  if (!row) return;
  row.focus();
  row.click();
}

const press = id => () => { const button = $(id); if (!button.hidden && !button.disabled) button.click(); };
const pressItem = key => () => $("life").querySelector(`[data-key="${key}"]`)?.click();

const keys = [
  ["←", "ArrowLeft", "one commit back", () => moveBy(-1)],
  ["→", "ArrowRight", "one commit on", () => moveBy(1)],
  ["Shift ←", "Shift+ArrowLeft", "one day back", () => moveByTime(-dayInMs)],
  ["Shift →", "Shift+ArrowRight", "one day on", () => moveByTime(dayInMs)],
  ["Home", "Home", "before the first commit", () => moveTo({ index: 0 })],
  ["End", "End", "the last commit", () => moveTo({ index: newest.index })],
  ["Page Up", "PageUp", "20 commits back", () => moveBy(-20)],
  ["Page Down", "PageDown", "20 commits on", () => moveBy(20)],
  [",", ",", "one commit back", () => moveBy(-1)],
  [".", ".", "one commit on", () => moveBy(1)],
  ["l", "l", "live: the newest state", press("live")],
  ["d", "d", "type a date", () => $("date").focus()],
  ["c", "c", "compare two moments", press("compare")],
  ["x", "x", "the other handle", () => { if (state.there) $(state.active === "here" ? "there" : "here").focus(); }],
  ["+", "+", "zoom in", zoomIn],
  ["-", "-", "zoom out", zoomOut],
  ["0", "0", "all of history", press("fit")],
  ["/", "/", "search", () => { location.hash = "#history"; $("search").focus(); $("search").select(); }],
  ["j", "j", "next in the list", () => stepInList(1)],
  ["k", "k", "previous in the list", () => stepInList(-1)],
  ["]", "]", "next library", () => stepLibrary(1)],
  ["[", "[", "previous library", () => stepLibrary(-1)],
  ["m", "m", "more of the list", press("more")],
  ["a", "a", "also removed ones", press("all")],
  ["f", "f", "fold playback positions", press("fold")],
  ["o", "o", "order of the item's events", pressItem("order")],
  ["w", "w", "since when?", pressItem("blame")],
  ["t", "t", "toggle the item", pressItem("toggle")],
  ["n", "n", "note of the item", pressItem("note")],
  ["b", "b", "put the item back to the slider", pressItem("put-back")],
  ["r", "r", "restore the library to the slider", press("restore-library")],
  ["R", "Shift+R", "restore all, or undo what is between", press("restore")],
  ["u", "u", "undo the last commit of this device", () => { if (!state.source.readOnly) undoLast(); }],
  ["1 – 9", null, "the pages, as in the tabs"],
  ["?", "?", "these keys", () => $("keys").showModal()],
];

function stepLibrary(by) {
  const names = [...state.libraries.keys()].sort();
  if (names.length) chooseLibrary(names[(names.indexOf(state.library) + by + names.length) % names.length]);
}

function listenToKeys() {
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const isSlider = event.target.getAttribute("role") === "slider";
    if (event.target.matches("input:not([type=checkbox]), textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const isList = $("items").contains(event.target);
    if (isList && (event.key === "ArrowDown" || event.key === "ArrowUp")) { event.preventDefault(); return stepInList(event.key === "ArrowDown" ? 1 : -1); }
    const isVertical = event.key === "ArrowUp" || event.key === "ArrowDown";
    const scrolls = ["Home", "End", "PageUp", "PageDown"].includes(event.key);
    if ((scrolls || isVertical) && !isSlider) return;
    if (/^[1-9]$/.test(event.key)) return void $("tabs").querySelectorAll("a")[event.key - 1]?.click();
    const pressed = isVertical ? (event.key === "ArrowUp" ? "ArrowRight" : "ArrowLeft") : event.key;
    const name = event.shiftKey && (/^[A-Za-z]$/.test(pressed) || pressed.startsWith("Arrow")) ? `Shift+${pressed}` : pressed;
    const found = keys.find(key => key[1] === name);
    if (!found) return;
    event.preventDefault();
    found[3]();
  });
  const shown = keys.filter(key => !state.source.readOnly || !["t", "n", "b", "r", "R", "u"].includes(key[0]));
  fill($("key-list"), shown.map(([key, , words]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, words))));
}

// MARK: Start

const storeChanged = coalesced(async () => {
  const before = state.here.count;
  state.changes += 1;
  state.life = state.facts = null;
  if (state.source.libraries) for (const library of await state.source.libraries()) knownLibraries.set(library.name, library);
  await Promise.all([findStopsAgain(), loadBand()]);
  fillFilters();
  if (state.isPage) showPage();
  if (state.here.count !== before) $("heard").textContent = `The store changed: ${plural(state.here.count, "commit")}.`;
}, tell);

function fillFilters() {
  const options = (select, entries) => {
    const chosen = select.value;
    select.replaceChildren(el("option", { value: "" }, "all"), ...entries.map(([value, text]) => el("option", { value }, text)));
    select.value = chosen;
  };
  options($("filter-library"), [...new Set([...state.libraries.keys()])].sort().map(name => [name, name]));
  options($("filter-replica"), state.devices.map(device => [device.replica, device.name || device.replica.slice(0, 8)]));
}

function listen() {
  listenToTrack();
  listenToKeys();
  const on = (id, type, action) => $(id).addEventListener(type, action);
  on("back", "click", () => moveBy(-1));
  on("forth", "click", () => moveBy(1));
  on("live", "click", () => moveTo(state[state.active].isLive ? { index: newest.index } : newest));
  on("compare", "click", () => compare());
  on("restore", "click", () => restoreAll().catch(tell));
  on("restore-library", "click", restoreLibrary);
  on("zoom-in", "click", zoomIn);
  on("zoom-out", "click", zoomOut);
  on("fit", "click", fit);
  on("help", "click", () => $("keys").showModal());
  on("preview-cancel", "click", () => $("preview").close());
  on("more", "click", () => { state.limit += rowsAtOnce; showStore(); });
  on("all", "change", () => showStore());
  on("fold", "change", () => { showEvents(); showItem(); });
  on("search", "input", () => { state.limit = rowsAtOnce; showStore(); });
  on("date", "change", () => {
    const text = $("date").value;
    if (text.trim() === "") return;
    const moment = /^(now|live)$/i.test(text.trim()) ? newest : { axis: momentOf(text) };
    if (moment.axis === null) return tell(`"${text}" is no date. Write 2026-03-05 or 2026-03-05 17:40.`);
    moveTo(moment);
  });
  for (const name of Object.keys(state.filters)) on(`filter-${name}`, "change", event => {
    state.filters[name] = event.target.value;
    if (name === "library" && event.target.value) chooseLibrary(event.target.value);
    Promise.all([fit(), findStopsAgain()]).catch(tell);
  });
  addEventListener("hashchange", route);
}

function showNotice(header) {
  $("notice").hidden = !header;
  if (!header) return;
  fill($("notice"), el("p", {}, "A copy of ", bdi(header.store), ", made at ", time(header.madeAt), ` by Heartlog ${header.heartlog}. `,
    "All data is in this file; it asks nothing of any network and cannot be changed here."),
    el("p", {}, "Digest ", el("code", {}, header.digest), header.at ? [" at ", bdi(header.at)] : "", header.library ? [", only ", bdi(header.library)] : "",
      ". heartlog status shows the same digest for a store with the same favorites. ", el("a", { href: "#verification" }, "Verification"), " has the checkpoints that the devices signed."));
}

async function start() {
  const isPageName = pages.some(page => `#${page.name}` === location.hash) || location.hash === "#history";
  try {
    const token = isPageName ? "" : location.hash.slice(1);
    // The token is used once; it must not stay in the address or the history.
    if (token) history.replaceState(null, "", location.pathname + location.search);
    state.source = fileSource() || await LiveSource.open(token);
    for (const library of await state.source.libraries()) knownLibraries.set(library.name, library);
    fill($("tabs"), [["history", "History"], ...pages.map(page => [page.name, page.title])].map(([name, title]) => el("a", { href: `#${name}` }, title)));
    showNotice(state.source.fileHeader);
    if (state.source.store) $("store").replaceChildren(bdi(state.source.store));
    // What there is now is shown while the history of a large store is still being read.
    const now = state.here = { index: 0, count: null, commit: null, replica: null, number: 0, time: null, axis: 0, isLive: true };
    listen();
    route();
    const stop = await state.source.stop({ index: newest.index });
    if (state.here === now) state.here = { ...stop, isLive: true };
    await loadBand();
    if (state.isPage) await statusAt(state.here);
    // With the names of the devices.
    else showEvents();
    fillFilters();
    state.source.onChange(storeChanged, isLost => {
      if (isLost) tell("The inspector does not answer. Start it again with: heartlog inspect");
      else say("The inspector answers again.");
    });
  } catch (error) {
    tell(error);
  }
}

start();
