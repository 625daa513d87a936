// The data of a page that is one file: the events of a log, and the answers of some commands. InspectorFile.swift writes it,
// and says what it is made of.

/** The source of a page that contains its data; null if it does not. Throws an Error with a sentence if the data is damaged. */
function fileSource() {
  const element = document.getElementById("heartlog-data");
  return element && new FileSource(element.textContent);
}

class DamagedData extends Error {
  constructor() { super("The data in this file is damaged. Make the file again with “heartlog inspect -o FILE”."); }
}

/** Decodes an LZ4 block: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md */
function decodeLZ4Block(input, length) {
  // A byte of input stands for 255 bytes of output at most.
  if (length > input.length * 255) throw new DamagedData();
  const output = new Uint8Array(length);
  let read = 0, written = 0;
  const check = holds => { if (!holds) throw new DamagedData(); };
  const lengthFrom = count => {
    for (let byte = count === 15 ? 255 : 0; byte === 255; count += byte) {
      check(read < input.length);
      byte = input[read++];
    }
    return count;
  };
  while (read < input.length) {
    const token = input[read++];
    const literals = lengthFrom(token >> 4);
    check(literals <= input.length - read && literals <= length - written);
    output.set(input.subarray(read, read + literals), written);
    read += literals;
    written += literals;
    if (read === input.length) break;  // the last sequence has no match
    check(read + 2 <= input.length);
    const offset = input[read] | input[read + 1] << 8;
    read += 2;
    const count = lengthFrom(token & 15) + 4;
    check(offset > 0 && offset <= written && count <= length - written);
    // A match may overlap what it writes.
    for (let end = written + count; written < end;) {
      const part = Math.min(offset, end - written);
      output.copyWithin(written, written - offset, written - offset + part);
      written += part;
    }
  }
  check(written === length);
  return output;
}

/** The order of two texts by the bytes of their UTF-8. */
function compareBytes(a, b) {
  // UTF-16 has the same order, but for surrogates, which come after U+E000 to U+FFFF.
  const rank = unit => unit >= 0xE000 ? unit - 0x800 : unit >= 0xD800 ? unit + 0x2000 : unit;
  const count = Math.min(a.length, b.length);
  for (let index = 0; index < count; index++) {
    const x = a.charCodeAt(index), y = b.charCodeAt(index);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** The first index from `low` up to `high` at which `isReached` holds, which it does from there on. */
function firstIndex(low, high, isReached) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isReached(middle)) high = middle; else low = middle + 1;
  }
  return low;
}

/** Whether two values of JSON are equal. */
function sameValue(a, b) {
  return Object.is(a, b) || typeof a === "object" && typeof b === "object" && a !== null && b !== null && JSON.stringify(a) === JSON.stringify(b);
}

/** Texts as `list --match` compares them: see TextSearch in the sources of Heartlog. */
const SearchedText = {
  latin: { ł: "l", ø: "o", đ: "d", ð: "d", ħ: "h", ŧ: "t", ı: "i", æ: "ae", œ: "oe", þ: "th", ŋ: "n", ĸ: "k", ĳ: "ij", ŉ: "n", ς: "σ" },
  marks: /[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0]/g,
  folded(text) {
    if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase();
    const plain = text => text.normalize("NFD").replace(this.marks, "");
    return plain(plain(text).toLowerCase().toUpperCase().toLowerCase())
      .replace(/[łøđðħŧıæœþŋĸĳŉς]/g, letter => this.latin[letter])
      .replace(/[\uff01-\uff5e]/g, wide => String.fromCharCode(wide.charCodeAt(0) - 0xfee0).toLowerCase());
  },
  /** Whether people read a text: it is no address, UUID or date. */
  isRead(text) {
    return !/^[A-Za-z0-9+.-]+:\/\/\S*$/.test(text) && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
      && !/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text);
  },
  /** A function that says whether an item contains a text. */
  search(text) {
    const wanted = this.folded(text);
    const isIn = value => typeof value === "string" ? this.isRead(value) && this.folded(value).includes(wanted)
      : value !== null && typeof value === "object" && Object.values(value).some(isIn);
    return item => this.folded(item.id).includes(wanted) || Object.values(item.fields).some(isIn);
  },
};

/** A question without the members that mean nothing. */
const givenOnly = question => Object.fromEntries(Object.entries(question).filter(([, value]) => value !== undefined && value !== null && value !== ""));

/** What a command line would say: an exit code and a sentence. */
class Refusal extends Error {
  constructor(exit, sentence) { super(sentence); this.exit = exit; }
}

/**
 * Answers what a `LiveSource` answers, from the data of the file.
 *
 * Events have their index in the log as their number, and commits too. A moment is the number of events before it.
 */
class FileSource {
  constructor(text) {
    let data;
    try {
      const bytes = Uint8Array.from(atob(text.trim()), letter => letter.charCodeAt(0));
      if (bytes.length < 4) throw new DamagedData();
      const length = new DataView(bytes.buffer).getUint32(0, true);
      data = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(decodeLZ4Block(bytes.subarray(4), length)));
      this.decode(data);
    } catch {
      throw new DamagedData();
    }
    this.readOnly = true;
    this.fileHeader = data.header;
  }

  /** Turns the columns into arrays, and checks that every index is in its table. */
  decode(data) {
    const { commits, events, replicas, libraryNames, items } = data;
    const count = commits.replica.length, eventCount = events.item.length;
    const check = holds => { if (!holds) throw new DamagedData(); };
    this.data = data;
    this.commitCount = count;
    this.eventCount = eventCount;
    this.replicaOf = Int32Array.from(commits.replica);
    this.numberOf = new Float64Array(count);
    this.wall = new Float64Array(count);
    this.axis = new Float64Array(count);
    this.sequenceOf = new Float64Array(count);  // of the first event
    this.firstEvent = new Int32Array(count + 1);
    this.commitsOf = replicas.map(() => []);
    const number = replicas.map(() => 0), sequence = replicas.map((_, index) => data.firstSequences?.[index] ?? 1);
    let wall = 0, axis = 0, event = 0;
    for (let commit = 0; commit < count; commit++) {
      const replica = this.replicaOf[commit];
      check(replica >= 0 && replica < replicas.length && commits.events[commit] >= 0);
      this.numberOf[commit] = number[replica] += commits.number[commit];
      this.wall[commit] = wall += commits.wall[commit];
      this.axis[commit] = axis += commits.stamp[commit];
      this.sequenceOf[commit] = sequence[replica];
      this.firstEvent[commit] = event;
      this.commitsOf[replica].push(commit);
      sequence[replica] += commits.events[commit];
      event += commits.events[commit];
    }
    this.firstEvent[count] = event;
    check(event === eventCount && events.action.length === eventCount);
    check(events.date.length === eventCount && events.fields.length === eventCount);
    this.commitOf = new Int32Array(eventCount);
    for (let commit = 0; commit < count; commit++) this.commitOf.fill(commit, this.firstEvent[commit], this.firstEvent[commit + 1]);

    this.itemOf = Int32Array.from(events.item);
    this.itemsOf = libraryNames.map(() => []);
    this.itemNumbers = libraryNames.map(() => new Map());
    items.forEach(([library, id], item) => {
      check(library >= 0 && library < libraryNames.length && typeof id === "string");
      this.itemsOf[library].push(item);
      this.itemNumbers[library].set(id, item);
    });
    // The events of an item, in order: those of `item` are in `eventsOf` from `firstOf[item]` to `firstOf[item + 1]`.
    this.firstOf = new Int32Array(items.length + 1);
    for (const item of this.itemOf) {
      check(item >= -1 && item < items.length);
      if (item >= 0) this.firstOf[item + 1]++;
    }
    for (let item = 0; item < items.length; item++) this.firstOf[item + 1] += this.firstOf[item];
    this.eventsOf = new Int32Array(this.firstOf[items.length]);
    const next = this.firstOf.slice();
    this.itemOf.forEach((item, event) => { if (item >= 0) this.eventsOf[next[item]++] = event; });
    /** By the text of filters: the stops, and how many events each filter takes of them. */
    this.stopsBy = new Map();
  }

  // Of events

  /** Whether the membership is a favorite after an event; null if the event does not write it. */
  membership(event) { return { a: true, t: true, r: false, u: false }[this.data.events.action[event]] ?? null; }

  favoritedDate(event) { return this.wall[this.commitOf[event]] + (this.data.events.date[event] ?? 0); }

  /** Calls `visit(name, value, isQuiet)` for each field that an event wrote. */
  eachField(event, visit) {
    const fields = this.data.events.fields[event];
    for (let index = 0; fields && index < fields.length; index += 2) {
      const name = fields[index];
      visit(name < 0 ? -1 - name : name, fields[index + 1], name < 0);
    }
  }

  sequence(event) {
    const commit = this.commitOf[event];
    return this.sequenceOf[commit] + event - this.firstEvent[commit];
  }

  eventName(event) { return `${this.data.replicas[this.replicaOf[this.commitOf[event]]]}:${this.sequence(event)}`; }

  commitName(commit) { return `${this.data.replicas[this.replicaOf[commit]]}:c${this.numberOf[commit]}`; }

  stamp(commit) {
    const hexadecimal = (number, digits) => number.toString(16).padStart(digits, "0");
    return hexadecimal(this.axis[commit], 12) + hexadecimal(this.data.commits.counter[commit], 4);
  }

  date(milliseconds) { return new Date(milliseconds).toISOString(); }

  /** Whether an event is in the file at all: those of other libraries may be left out. */
  isHere(event) { return this.itemOf[event] >= 0 || this.data.others[event] !== undefined; }

  kind(event) {
    const isFavorite = this.membership(event);
    return isFavorite === null ? "change" : isFavorite ? "favorite" : "remove";
  }

  /** An event as `log --json` prints it. */
  eventObject(event) {
    const { data } = this, commit = this.commitOf[event], item = this.itemOf[event];
    const found = {
      replica: data.replicas[this.replicaOf[commit]], sequence: this.sequence(event), commit: this.numberOf[commit],
      time: this.date(this.wall[commit]), stamp: this.stamp(commit),
    };
    if (item >= 0) {
      const isFavorite = this.membership(event), fields = Object.create(null), quiet = [];
      found.library = data.libraryNames[data.items[item][0]];
      found.item = data.items[item][1];
      found.action = { a: "added", r: "removed", t: "toggled", u: "toggled" }[data.events.action[event]] ?? "changed";
      if (isFavorite !== null) found.isFavorite = isFavorite;
      if (data.events.date[event] !== null) found.favoritedDate = this.date(this.favoritedDate(event));
      this.eachField(event, (name, value, isQuiet) => {
        fields[data.texts[name]] = value;
        if (isQuiet) quiet.push(data.texts[name]);
      });
      if (data.events.fields[event]) found.fields = fields;
      if (quiet.length) found.quiet = quiet;
    }
    Object.assign(found, data.others[event]);
    const origin = data.origins[data.commits.origin[commit]];
    if (origin) found.origin = origin;
    return found;
  }

  // Of items

  /** The place in `eventsOf` after the last event of an item before a moment. */
  endOf(item, moment) {
    const end = this.firstOf[item + 1];
    return moment === this.eventCount ? end : firstIndex(this.firstOf[item], end, place => this.eventsOf[place] >= moment);
  }

  /** The event that wrote the membership of an item last, before a moment; -1 if there is none. */
  lastMembership(item, moment) {
    for (let place = this.endOf(item, moment) - 1; place >= this.firstOf[item]; place--) {
      if (this.membership(this.eventsOf[place]) !== null) return this.eventsOf[place];
    }
    return -1;
  }

  /** The state of an item as `show` prints it; null if no event before the moment wrote it. */
  itemAt(item, moment) {
    const { data } = this, end = this.endOf(item, moment);
    if (end === this.firstOf[item]) return null;
    const membership = this.lastMembership(item, moment);
    const isFavorite = membership >= 0 && this.membership(membership);
    // Without a prototype, because a field may be named __proto__.
    const seen = new Set(), fields = Object.create(null);
    for (let place = end - 1; place >= this.firstOf[item]; place--) {
      this.eachField(this.eventsOf[place], (name, value) => {
        if (!seen.has(name) && value !== null) fields[data.texts[name]] = value;
        seen.add(name);
      });
    }
    return {
      library: data.libraryNames[data.items[item][0]], id: data.items[item][1], isFavorite,
      favoritedDate: isFavorite ? this.date(this.favoritedDate(membership)) : null, fields,
    };
  }

  /** The favorites of a library, newest first, as items. */
  favoritesAt(library, moment) {
    const found = [];
    for (const item of this.itemsOf[library]) {
      const event = this.lastMembership(item, moment);
      if (event >= 0 && this.membership(event)) found.push({ item, event, date: this.favoritedDate(event) });
    }
    return found.sort((a, b) => b.date - a.date || b.event - a.event).map(favorite => favorite.item);
  }

  /** The items that `list --all` lists besides the favorites, by id. */
  othersAt(library, moment) {
    return this.itemsOf[library].filter(item => {
      const event = this.lastMembership(item, moment);
      if (event >= 0) return !this.membership(event);
      return Object.keys(this.itemAt(item, moment)?.fields ?? {}).length > 0;
    }).sort((a, b) => this.compareIDs(a, b));
  }

  compareIDs(a, b) { return compareBytes(this.data.items[a][1], this.data.items[b][1]); }

  // Of conflicts: docs/merge.md

  /** Whether the writer of a commit had seen another one, of another device. */
  hasSeen(commit, other) {
    if (!this.horizons) {
      // By replica: from which commit on it had seen what of all others, directly or through what it had seen.
      this.horizons = this.data.replicas.map(() => [{ number: 0, seen: this.data.replicas.map(() => 0) }]);
      for (const [index, heads] of Object.entries(this.data.commits.heads)) {
        const own = this.horizons[this.replicaOf[index]], seen = own.at(-1).seen.slice();
        for (let place = 0; place < heads.length; place += 2) {
          const [replica, number] = [heads[place], heads[place + 1]];
          this.horizon(replica, number).forEach((number, of) => { seen[of] = Math.max(seen[of], number); });
          seen[replica] = Math.max(seen[replica], number);
        }
        own.push({ number: this.numberOf[index], seen });
      }
    }
    return this.horizon(this.replicaOf[commit], this.numberOf[commit])[this.replicaOf[other]] >= this.numberOf[other];
  }

  horizon(replica, number) {
    const all = this.horizons[replica];
    return all[firstIndex(0, all.length, index => all[index].number > number) - 1].seen;
  }

  /** Whether a write had seen an earlier one of its register. */
  supersedes(write, earlier) {
    const [a, b] = [this.commitOf[write.event], this.commitOf[earlier.event]];
    return this.replicaOf[a] === this.replicaOf[b] || this.hasSeen(a, b);
  }

  contradicts(a, b) { return !a.isQuiet && !b.isQuiet && !sameValue(a.value, b.value); }

  /** The writes of each register of an item before a moment, the membership first, then the fields by name. */
  registers(item, moment) {
    const found = new Map();
    const add = (name, write) => found.has(name) ? found.get(name).push(write) : found.set(name, [write]);
    const end = this.endOf(item, moment);
    for (let place = this.firstOf[item]; place < end; place++) {
      const event = this.eventsOf[place], value = this.membership(event);
      if (value !== null) add(-1, { event, value, isQuiet: false });
      this.eachField(event, (name, value, isQuiet) => add(name, { event, value, isQuiet }));
    }
    const name = index => index < 0 ? undefined : this.data.texts[index];
    return [...found].map(([index, writes]) => ({ field: name(index), writes }))
      .sort((a, b) => a.field === undefined ? -1 : b.field === undefined ? 1 : compareBytes(a.field, b.field));
  }

  /** Adds a write to those that no other one supersedes. */
  keep(kept, write) { return [...kept.filter(earlier => !this.supersedes(write, earlier)), write]; }

  kept(writes) { return writes.reduce((kept, write) => this.keep(kept, write), []); }

  /** The sides of the open conflict of a register, of the writes that it keeps; the latest first. */
  sides(kept) {
    const open = kept.filter(write => !write.isQuiet).reverse();
    return open.some(write => this.contradicts(write, open[0])) ? open : [];
  }

  /** The number of open conflicts at each moment. */
  conflictCounts() {
    if (this.openCounts) return this.openCounts;
    const counts = new Int32Array(this.eventCount + 1);
    for (let item = 0; item < this.data.items.length; item++) {
      if (!this.isShared(item)) continue;
      for (const { writes } of this.registers(item, this.eventCount)) {
        let kept = [], isOpen = false;
        for (const write of writes) {
          kept = this.keep(kept, write);
          const opens = this.sides(kept).length > 0;
          counts[write.event + 1] += opens - isOpen;
          isOpen = opens;
        }
      }
    }
    for (let event = 0; event < this.eventCount; event++) counts[event + 1] += counts[event];
    return this.openCounts = counts;
  }

  /** Whether several devices wrote an item. */
  isShared(item) {
    for (let place = this.firstOf[item] + 1; place < this.firstOf[item + 1]; place++) {
      const replica = place => this.replicaOf[this.commitOf[this.eventsOf[place]]];
      if (replica(place) !== replica(place - 1)) return true;
    }
    return false;
  }

  /** What `log LIBRARY ID` says of conflicts, by event. */
  fates(item) {
    const found = new Map();
    for (const { field, writes } of this.registers(item, this.eventCount)) {
      const sides = this.sides(this.kept(writes));
      writes.forEach((write, index) => {
        const fate = { register: field === undefined ? "membership" : "field", isShown: index === writes.length - 1 };
        if (field !== undefined) fate.field = field;
        if (sides.includes(write)) fate.openWith = sides.filter(side => side !== write).map(side => this.eventName(side.event));
        for (const later of writes.slice(index + 1)) {
          if (this.supersedes(later, write)) break;
          if (!this.contradicts(later, write)) continue;
          fate.lostTo = this.eventName(later.event);
          break;
        }
        if (fate.openWith || fate.lostTo) found.set(write.event, [...found.get(write.event) ?? [], fate]);
      });
    }
    return found;
  }

  /** The value of a write, as commands print it. */
  valueObject(field, write) {
    if (field !== undefined) return { value: write.value };
    return write.value ? { isFavorite: true, favoritedDate: this.date(this.favoritedDate(write.event)) } : { isFavorite: false };
  }

  // Of commands

  async run(words, { from = 0, count = Infinity } = {}) {
    try {
      const { command, answers } = this.understood(words);
      if (!command) {
        const known = answers ?? { exit: 64, lines: [], error: `This page is a copy: it has no answer to “heartlog ${words.join(" ")}”.` };
        return { ...known, total: known.lines.length, lines: known.lines.slice(from, from + count) };
      }
      const { objects, object = value => value, exit = 0, error = "" } = command();
      return { exit, total: objects.length, lines: objects.slice(from, from + count).map(object), error };
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      return { exit: refusal.exit, lines: [], total: 0, error: refusal.message };
    }
  }

  /** The method that answers a command, or else an answer that was stored. */
  understood(words) {
    const hasValue = { "--at": true, "--library": true, "--limit": true, "--match": true, "--by": true, "--all": false };
    const taken = new Map(Object.entries({
      list: ["--at", "--limit", "--match", "--all"], show: ["--at"], status: ["--at"], log: [], blame: [], diff: ["--library"],
      conflicts: ["--at"], stats: ["--by", "--at"],
    })).get(words[0]);
    const options = {}, texts = [];
    let isPlain = false, isKnown = taken !== undefined;
    for (let index = 1; isKnown && index < words.length; index++) {
      const word = words[index];
      if (isPlain || !/^-./.test(word)) texts.push(word);
      else if (word === "--") isPlain = true;
      else {
        const [, name, value] = /^(--[^=]*)=(.*)$/s.exec(word) ?? [null, word];
        isKnown = taken.includes(name);
        if (isKnown) options[name] = hasValue[name] ? value ?? words[++index] : true;
      }
    }
    const least = { list: 1, show: 2, log: 2, blame: 2, diff: 1 }[words[0]];
    if (!isKnown || least && texts.length < least || Object.values(options).includes(undefined)) {
      const key = words.join(" ");
      return { answers: Object.hasOwn(this.data.answers, key) ? this.data.answers[key] : undefined };
    }
    return { command: () => this[words[0]](options, ...texts) };
  }

  /** The moment of a commit, and how a command names it. */
  moment(name) {
    if (name === undefined) return { moment: this.eventCount, commit: this.commitCount };
    const [, id, digits] = /^([0-9a-f]{32}):c(\d+)$/.exec(name) ?? [];
    if (!digits) throw new Refusal(64, `This page is a copy: it knows the moments of commits, but not “${name}”.`);
    const own = this.commitsOf[this.data.replicas.indexOf(id)] ?? [], number = Number(digits);
    const commit = own[firstIndex(0, own.length, index => this.numberOf[own[index]] >= number)];
    if (commit === undefined || this.numberOf[commit] !== number) throw new Refusal(1, `There is no commit ${name}.`);
    return { moment: this.firstEvent[commit + 1], commit: commit + 1, asOf: name };
  }

  library(name) {
    const library = this.data.libraryNames.indexOf(name);
    return library < 0 ? null : library;
  }

  item(library, id) { return this.itemNumbers[this.library(library)]?.get(id); }

  withMoment(asOf) { return asOf === undefined ? object => object : object => ({ ...object, asOf }); }

  list(options, name) {
    const { moment, asOf } = this.moment(options["--at"]), library = this.library(name);
    const withMoment = this.withMoment(asOf);
    const object = item => withMoment(this.itemAt(item, moment));
    const error = this.unwritten(name, moment, asOf);
    if (library === null) return { objects: [], error };
    let objects = this.favoritesAt(library, moment);
    if (options["--all"]) objects.push(...this.othersAt(library, moment));
    if (options["--match"] !== undefined) {
      const isFound = SearchedText.search(options["--match"]);
      objects = objects.filter(item => isFound(this.itemAt(item, moment)));
    }
    if (options["--limit"] !== undefined) objects = objects.slice(0, Number(options["--limit"]));
    return { objects, object, error };
  }

  /** What a command says of a library to which nothing was written before a moment. */
  unwritten(name, moment, asOf) {
    const items = this.itemsOf[this.library(name)] ?? [];
    // Items are in the order of their first events.
    if (items.length && this.eventsOf[this.firstOf[items[0]]] < moment) return "";
    return asOf ? `Nothing had been written to the library ${name} as of ${asOf}.` : `Nothing was ever written to the library ${name}.`;
  }

  show(options, library, id) {
    const { moment, asOf } = this.moment(options["--at"]), item = this.item(library, id);
    const state = item === undefined ? null : this.itemAt(item, moment);
    if (!state) throw new Refusal(1, `There is no item “${id}” in ${library}${asOf ? `, as of ${asOf}` : ""}.`);
    return { objects: [this.withMoment(asOf)(state)] };
  }

  log(options, library, id) {
    const item = this.item(library, id);
    if (item === undefined) return { objects: [] };
    const objects = Array.from(this.eventsOf.subarray(this.firstOf[item], this.endOf(item, this.eventCount)));
    const fates = this.data.replicas.length > 1 ? this.fates(item) : new Map();
    return { objects, object: event => fates.has(event) ? { ...this.eventObject(event), conflicts: fates.get(event) } : this.eventObject(event) };
  }

  blame(options, library, id) {
    const item = this.item(library, id);
    if (item === undefined) throw new Refusal(1, `There is no item “${id}” in ${library}.`);
    const write = (field, write) => {
      const commit = this.commitOf[write.event], replica = this.replicaOf[commit], origin = this.data.origins[this.data.commits.origin[commit]];
      return {
        ...this.valueObject(field, write), replica: this.data.replicas[replica], sequence: this.sequence(write.event), commit: this.numberOf[commit],
        time: this.date(this.wall[commit]), stamp: this.stamp(commit), name: this.data.names[replica],
        ...origin && { origin }, ...write.isQuiet && { isQuiet: true },
      };
    };
    return {
      objects: this.registers(item, this.eventCount).map(({ field, writes }) => {
        const kept = this.kept(writes), before = writes.at(-2);
        return {
          library, id, register: field === undefined ? "membership" : "field", ...field !== undefined && { field },
          ...write(field, writes.at(-1)), isOpenConflict: this.sides(kept).length > 0,
          replaced: before ? write(field, before) : null, wonAgainst: kept.slice(0, -1).reverse().map(rival => write(field, rival)),
        };
      }),
    };
  }

  conflicts(options, only) {
    const { moment, asOf } = this.moment(options["--at"]), objects = [];
    const withMoment = this.withMoment(asOf);
    this.data.items.forEach(([library, id], item) => {
      const name = this.data.libraryNames[library];
      if (only !== undefined && name !== only || !this.isShared(item)) return;
      for (const { field, writes } of this.registers(item, moment)) {
        const sides = this.sides(this.kept(writes));
        if (!sides.length) continue;
        objects.push(withMoment({
          library: name, id, register: field === undefined ? "membership" : "field", ...field !== undefined && { field },
          writes: sides.map((side, index) => ({
            replica: this.data.replicas[this.replicaOf[this.commitOf[side.event]]], sequence: this.sequence(side.event),
            stamp: this.stamp(this.commitOf[side.event]), isShown: index === 0, ...this.valueObject(field, side),
          })),
        }));
      }
    });
    // Those of one item are in order already, and stay so.
    return { objects: objects.sort((a, b) => compareBytes(a.library, b.library) || compareBytes(a.id, b.id)) };
  }

  diff(options, first, second) {
    const before = this.moment(first), after = this.moment(second), only = options["--library"];
    const items = new Set(this.itemOf.subarray(Math.min(before.moment, after.moment), Math.max(before.moment, after.moment)));
    items.delete(-1);
    const none = { isFavorite: false, favoritedDate: null, fields: Object.create(null) };
    const objects = [];
    for (const item of items) {
      const name = this.data.libraryNames[this.data.items[item][0]];
      if (only !== undefined && name !== only) continue;
      const [a, b] = [before, after].map(({ moment }) => this.itemAt(item, moment) ?? none);
      const names = Object.keys({ ...a.fields, ...b.fields }).filter(name => !sameValue(a.fields[name], b.fields[name]));
      if (a.favoritedDate === b.favoritedDate && !names.length) continue;
      const side = ({ isFavorite, favoritedDate, fields }) =>
        ({ isFavorite, favoritedDate, fields: Object.fromEntries(names.map(name => [name, fields[name] ?? null])) });
      objects.push({
        library: name, id: this.data.items[item][1], before: side(a), after: side(b),
        ...before.asOf && { from: before.asOf }, ...after.asOf && { to: after.asOf },
      });
    }
    return {
      objects: objects.sort((a, b) => compareBytes(a.library, b.library) || compareBytes(a.id, b.id)),
      error: only === undefined ? "" : this.unwritten(only, this.eventCount),
    };
  }

  /** The favorites, the items and the events of each library at a moment: three numbers each. */
  countsAt(moment) {
    // The counts of every so many events, so that few are counted again.
    const span = 4096, size = 3 * this.data.libraryNames.length;
    if (!this.counts) {
      this.counts = [];
      this.changes = new Int8Array(2 * this.eventCount);  // of favorites and items, by event
      const items = this.data.items.map(() => ({ isFavorite: false, wasWritten: false, held: new Set() }));
      const now = new Int32Array(size);
      for (let event = 0; event <= this.eventCount; event++) {
        if (event % span === 0) this.counts.push(now.slice());
        const item = event < this.eventCount ? this.itemOf[event] : -1;
        if (item < 0) continue;
        const state = items[item], library = 3 * this.data.items[item][0];
        const isListed = () => state.wasWritten || state.held.size > 0;
        const [wasFavorite, wasListed] = [state.isFavorite, isListed()];
        const membership = this.membership(event);
        if (membership !== null) { state.isFavorite = membership; state.wasWritten = true; }
        this.eachField(event, (name, value) => { if (value === null) state.held.delete(name); else state.held.add(name); });
        now[library] += this.changes[2 * event] = state.isFavorite - wasFavorite;
        now[library + 1] += this.changes[2 * event + 1] = isListed() - wasListed;
        now[library + 2]++;
      }
    }
    const place = Math.floor(moment / span), found = this.counts[place].slice();
    for (let event = place * span; event < moment; event++) {
      if (this.itemOf[event] < 0) continue;
      const library = 3 * this.data.items[this.itemOf[event]][0];
      found[library] += this.changes[2 * event];
      found[library + 1] += this.changes[2 * event + 1];
      found[library + 2]++;
    }
    return found;
  }

  status(options) {
    const { moment, commit, asOf } = this.moment(options["--at"]), counts = this.countsAt(moment);
    const now = this.data.answers.status?.lines[0] ?? {};
    const libraries = this.data.libraryNames
      .map((name, library) => ({ name, favorites: counts[3 * library], items: counts[3 * library + 1], events: counts[3 * library + 2] }))
      .filter(library => library.events > 0).sort((a, b) => compareBytes(a.name, b.name));
    if (asOf === undefined) return { objects: [{ ...now, libraries }], exit: this.data.answers.status?.exit ?? 0 };
    const { digest: _, withoutContent: __, ...then } = now;
    const replicas = this.data.replicas.map((id, replica) => {
      const own = this.commitsOf[replica], place = firstIndex(0, own.length, index => own[index] >= commit) - 1;
      const last = own[place];
      return {
        id, name: this.data.names[replica], head: place < 0 ? 0 : this.numberOf[last],
        events: place < 0 ? 0 : this.sequenceOf[last] + this.data.commits.events[last] - this.sequenceOf[own[0]],
        wallClockAheadSeconds: now.replicas?.[replica]?.wallClockAheadSeconds ?? 0,
      };
    });
    const conflicts = this.conflictCounts()[moment];
    delete then.conflicts;
    return { objects: [{ ...then, events: moment, commits: commit, replicas, libraries, ...conflicts && { conflicts }, asOf }] };
  }

  /** Counts events by period, by item and by source. Periods are those of the reader's zone. */
  stats(options, only) {
    const { moment, asOf } = this.moment(options["--at"]), { data } = this, by = options["--by"] ?? "week";
    const periods = new Map(), taps = new Map(), sources = new Map();
    let period = { start: 0, end: 0 };
    const periodAt = time => {
      if (time >= period.start && time < period.end) return period;
      const date = new Date(time), [year, month] = [date.getFullYear(), date.getMonth()];
      const day = by === "month" ? 1 : date.getDate() - (by === "week" ? (date.getDay() + 6) % 7 : 0);
      const start = +new Date(year, month, day);
      const end = by === "month" ? +new Date(year, month + 1, 1) : +new Date(year, month, day + (by === "week" ? 7 : 1));
      if (!periods.has(start)) periods.set(start, { start, end, favorited: 0, unfavorited: 0, changed: 0, gain: 0 });
      return periods.get(start);
    };
    const isFavorite = new Uint8Array(data.items.length);
    for (let event = 0; event < moment; event++) {
      const item = this.itemOf[event], commit = this.commitOf[event];
      if (item < 0 || only !== undefined && data.libraryNames[data.items[item][0]] !== only) continue;
      period = periodAt(this.wall[commit]);
      const source = this.replicaOf[commit] * data.origins.length + data.commits.origin[commit];
      sources.set(source, (sources.get(source) ?? 0) + 1);
      const membership = this.membership(event);
      period[membership === null ? "changed" : membership ? "favorited" : "unfavorited"]++;
      if (membership === null) continue;
      period.gain += membership - isFavorite[item];
      isFavorite[item] = membership;
      taps.set(item, (taps.get(item) ?? 0) + 1);
    }
    let favoritesAtEnd = 0;
    const library = item => data.libraryNames[data.items[item][0]];
    const replica = source => Math.floor(source / data.origins.length), origin = source => data.origins[source % data.origins.length];
    const objects = [
      ...[...periods.values()].sort((a, b) => a.start - b.start).map(({ start, favorited, unfavorited, changed, gain }) =>
        ({ kind: "period", start: this.date(start), favorited, unfavorited, changed, favoritesAtEnd: favoritesAtEnd += gain })),
      ...[...taps].sort(([a, count], [b, other]) => other - count || compareBytes(library(a), library(b)) || this.compareIDs(a, b)).slice(0, 5)
        .map(([item, count]) => ({ kind: "item", library: library(item), id: data.items[item][1], isFavorite: isFavorite[item] === 1, taps: count })),
      ...[...sources].sort(([a, count], [b, other]) => other - count || replica(a) - replica(b) || compareBytes(origin(a), origin(b)))
        .map(([source, events]) => ({
          kind: "source", replica: data.replicas[replica(source)], name: data.names[replica(source)], ...origin(source) && { origin: origin(source) }, events,
        })),
    ];
    return { objects: objects.map(this.withMoment(asOf)) };
  }

  // Of the slider

  async libraries() { return this.data.libraries; }

  takes(event, { library, replica, kind }) {
    return this.isHere(event) && (library === undefined || this.itemOf[event] >= 0 && this.data.libraryNames[this.data.items[this.itemOf[event]][0]] === library)
      && (replica === undefined || this.data.replicas[this.replicaOf[this.commitOf[event]]] === replica) && (kind === undefined || this.kind(event) === kind);
  }

  /** The commits that filters take, and the number of their events that they take. */
  stops(filters) {
    const key = JSON.stringify([filters.library, filters.replica, filters.kind]);
    let found = this.stopsBy.get(key);
    if (!found) {
      const commits = [], events = [];
      for (let commit = 0; commit < this.commitCount; commit++) {
        let count = 0;
        for (let event = this.firstEvent[commit]; event < this.firstEvent[commit + 1]; event++) count += this.takes(event, filters);
        if (count) { commits.push(commit); events.push(count); }
      }
      found = { commits, events };
      if (this.stopsBy.size > 30) this.stopsBy.clear();
      this.stopsBy.set(key, found);
    }
    return found;
  }

  async stop(question = {}) {
    const { index, axis, commit, ...filters } = givenOnly(question);
    const { commits } = this.stops(filters), count = commits.length;
    let place;
    if (index !== undefined) place = Math.max(0, Math.min(count, index));
    else if (axis !== undefined) place = firstIndex(0, count, stop => this.axis[commits[stop]] > axis);
    else {
      const last = this.moment(commit).commit;
      place = firstIndex(0, count, stop => commits[stop] >= last);
    }
    if (place === 0) {
      return { index: 0, count, commit: null, replica: null, number: 0, time: null, stamp: null, axis: this.commitCount ? this.axis[0] - 1 : 0 };
    }
    const stop = commits[place - 1];
    return {
      index: place, count, commit: this.commitName(stop), replica: this.data.replicas[this.replicaOf[stop]], number: this.numberOf[stop],
      time: this.date(this.wall[stop]), stamp: this.stamp(stop), axis: this.axis[stop],
    };
  }

  async band(question = {}) {
    const { bins: count = 200, from: low, to: high, ...filters } = givenOnly(question);
    const { commits, events } = this.stops(filters), { replicas, names } = this.data;
    const first = commits.length ? this.axis[commits[0]] : 0, last = commits.length ? this.axis[commits.at(-1)] : 0;
    const from = low ?? first, to = high ?? last;
    const width = Math.max(1, to - from);
    const place = (axis, count) => Math.min(count - 1, Math.floor((axis - from) / width * count));
    const bins = Array.from({ length: count }, () => replicas.map(() => 0));
    commits.forEach((commit, stop) => {
      const axis = this.axis[commit];
      if (axis >= from && axis <= to) bins[place(axis, count)][this.replicaOf[commit]] += events[stop];
    });
    // Marks of a kind that stand close are one, which leads to the last of them.
    const merged = new Map();
    for (const { kind, commit } of this.data.marks) {
      const stop = firstIndex(0, commits.length, stop => commits[stop] >= commit), axis = this.axis[commit];
      if (commits[stop] !== commit || axis < from || axis > to) continue;
      const key = `${kind} ${place(axis, 80)}`, before = merged.get(key)?.count ?? 0;
      merged.set(key, { index: stop + 1, axis, commit: this.commitName(commit), kind, count: before + 1 });
    }
    const marks = [...merged.values()].sort((a, b) => a.index - b.index || compareBytes(a.kind, b.kind));
    return { count: commits.length, first, last, devices: replicas.map((replica, index) => ({ replica, name: names[index] })), bins, marks };
  }

  async events(question = {}) {
    const { upTo, count = 100, playback, ...filters } = givenOnly(question);
    const found = [];
    for (let event = this.moment(upTo).moment - 1; event >= 0; event--) {
      if (!this.takes(event, filters)) continue;
      const before = found.at(-1);
      if (playback === false && this.isPlayback(event)) {
        // The row goes on, even if there are enough elements.
        if (before?.folded) { before.folded++; continue; }
        if (found.length >= count) break;
        found.push({ folded: 1, time: this.date(this.wall[this.commitOf[event]]) });
      } else {
        if (found.length >= count) break;
        found.push(this.eventObject(event));
      }
    }
    return found.reverse();
  }

  /** Whether an event only says where something is played: all its fields are quiet, in this write or in its library. */
  isPlayback(event) {
    const item = this.itemOf[event];
    if (item < 0 || this.data.events.action[event] !== "c" || !this.data.events.fields[event]?.length) return false;
    const library = this.data.libraryNames[this.data.items[item][0]];
    const fields = this.data.libraries.find(({ name }) => name === library)?.fields ?? [];
    let isPlayback = true;
    this.eachField(event, (name, _, isQuiet) => {
      isPlayback &&= isQuiet || fields.some(field => field.isQuiet && field.name === this.data.texts[name]);
    });
    return isPlayback;
  }

  onChange() {}

  close() {}
}
