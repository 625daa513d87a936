// Helpers for elements and text, and the source that asks the server. A source answers with the JSON of the commands.
// Everything in it may be hostile, so it reaches the page through text nodes and attributes only.

// Characters that are not seen, or that change the direction of what comes next, are shown as \u{…}.
const unseen = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const visible = text => String(text).replace(unseen, c => `\\u{${c.codePointAt(0).toString(16)}}`);

// el("button", { class: "quiet", onclick: f, disabled: false }, "text", node, [more])
function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : name.startsWith("data-") ? value : visible(value));
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false)
    .map(child => child instanceof Node ? child : visible(child)));
  return element;
}

// What Heartlog knows of its libraries, by name; filled when the page starts.
const knownLibraries = new Map();

// Text from the store: its direction does not reach its neighbors.
const bdi = text => el("bdi", {}, text);

const twoDigits = number => String(number).padStart(2, "0");

// "2026-03-05 17:41" in the reader's zone, as the command line writes it; style "second", "day", "minute" (default), "clock".
function timeText(when, style = "minute") {
  const date = new Date(when);
  if (isNaN(date)) return "no time";
  const day = `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
  const clock = `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
  if (style === "day") return day;
  if (style === "clock") return clock;
  return `${day} ${clock}${style === "second" ? ":" + twoDigits(date.getSeconds()) : ""}`;
}

function time(when, style = "minute") {
  const date = new Date(when);
  if (isNaN(date)) return el("span", {}, "no time");
  const utc = date.toISOString();
  return el("time", { datetime: utc, title: utc.replace("T", " ").replace("Z", " UTC") }, timeText(when, style));
}

const plural = (count, one, many = one + "s") => `${number(count)} ${count === 1 ? one : many}`;
const number = value => Number(value).toLocaleString("en-US");

// A value of a field, as a person reads it.
function valueText(value) {
  if (value === null || value === undefined) return "(none)";
  if (Array.isArray(value) && value.every(part => typeof part !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

// One answer of the server at a time for a region: while one is awaited, later requests wait, and only the newest is made. Each ends when
// nothing is awaited any more.
function coalesced(work, failed) {
  let running = null, isAskedAgain = false;
  return function ask() {
    isAskedAgain = running !== null;
    running ??= (async () => {
      await null;
      do {
        isAskedAgain = false;
        try { await work(); } catch (error) { failed(error); }
      } while (isAskedAgain);
      running = null;
    })();
    return running;
  };
}

class LiveSource {
  // Exchanges the token, if there is one, for the cookie.
  static async open(token) {
    const source = new LiveSource();
    if (token) await source.ask("/session", token);
    Object.assign(source, await source.ask("/info"));
    source.known = source.libraries;
    source.libraries = async () => source.known;
    source.fileHeader = null;
    return source;
  }

  async ask(path, body) {
    let answer;
    try {
      answer = await fetch(path, body === undefined ? {} : {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    } catch {
      throw new Error("The inspector does not answer. Start it again with: heartlog inspect");
    }
    if (answer.status === 401 || answer.status === 403) {
      throw new Error("This address was used before or is too old. Open the page again with: heartlog inspect");
    }
    if (answer.status === 204) return null;
    const value = await answer.json().catch(() => null);
    if (!answer.ok || value === null) throw new Error((value && value.error) || `The inspector answered with ${answer.status}.`);
    return value;
  }

  query(path, question) {
    const given = Object.entries(question).filter(([, value]) => value !== undefined && value !== null && value !== "");
    return this.ask(`${path}?${new URLSearchParams(given)}`);
  }

  run(words, { from, count } = {}) { return this.ask("/run", { words, from, count }); }
  band(question) { return this.query("/band", question); }
  stop(question) { return this.query("/stop", question); }
  events(question) { return this.query("/events", question); }

  // `lost(true)` when the server is gone, `lost(false)` when it is back.
  onChange(callback, lost = () => {}) {
    let isLost = false;
    this.changes = new EventSource("/changes");
    this.changes.onmessage = () => callback();
    this.changes.onerror = () => { if (!isLost) lost(isLost = true); };
    // What was written before it was open is not told.
    this.changes.onopen = () => { if (isLost) lost(isLost = false); callback(); };
  }

  close() { if (this.changes) this.changes.close(); }
}
