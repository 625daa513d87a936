// The pages for the rest: conflicts, devices, verification, doctor, statistics. Each shows what a command says.

const tableRowsAtOnce = 200;
const conflictsAtOnce = 50;
const periodsDrawnMax = 400;

const latestShow = new WeakMap();

/** A page. `build` returns its content; `again` shows it once more. */
function pageNamed(name, title, build) {
  const show = async (region, context) => {
    if (!region.isConnected) return;
    const turn = {};
    latestShow.set(region, turn);
    if (region.dataset.shown !== name || !region.firstChild) region.replaceChildren(el("p", { class: "faint" }, "Reading…"));
    region.dataset.shown = name;
    const content = await build(context, () => show(region, context)).catch(error => [problem(error.message)]);
    if (latestShow.get(region) === turn) fill(region, content);
  };
  return { name, title, show };
}

const pages = [
  pageNamed("conflicts", "Conflicts", conflictsPage),
  pageNamed("devices", "Devices", devicesPage),
  pageNamed("verification", "Verification", verificationPage),
  pageNamed("doctor", "Doctor", doctorPage),
  pageNamed("statistics", "Statistics", statisticsPage),
];

// MARK: Parts

function problem(text) {
  return text ? el("p", { class: "problem" }, text.replace(/^heartlog: /, "")) : null;
}

function pageSection(title, ...content) {
  return el("section", { class: "page-section" }, el("h3", {}, title), ...content);
}

/** Adds rows as long as there are more: `add(from)` adds some, and answers how many. */
async function inSteps(total, add) {
  const row = el("p", { class: "more" });
  let shown = 0;
  const next = async () => {
    const count = await add(shown);
    shown += count;
    row.replaceChildren(...shown < total && count > 0 ? [`${number(shown)} of ${number(total)} shown `, button] : []);
  };
  const button = el("button", { "data-key": "more", onclick: () => next().catch(error => row.replaceChildren(problem(error.message))) }, "Show more");
  await next();
  return row;
}

/** A column of numbers. */
const figures = name => ({ name, class: "figure" });

/** A table with a caption. The first cell of a row is its heading. */
function dataTable(caption, columns, rows) {
  const classOf = index => columns[index].class;
  const body = el("tbody");
  const rowOf = row => el("tr", {}, row.map((cell, index) =>
    index === 0 ? el("th", { scope: "row", class: classOf(0) }, cell) : el("td", { class: classOf(index) }, cell)));
  const more = el("div");
  inSteps(rows.length, async from => {
    const added = rows.slice(from, from + tableRowsAtOnce).map(rowOf);
    body.append(...added);
    return added.length;
  }).then(row => more.append(row));
  return el("div", {}, el("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption),
      el("thead", {}, el("tr", {}, columns.map(column => el("th", { scope: "col", class: column.class }, column.name || column)))), body)), more);
}

/** A device by its name, with the first digits of its id. */
function deviceLabel(replica, names) {
  const name = names.get(replica) || "";
  return [name ? [bdi(name), " "] : [], el("code", {}, replica.slice(0, 8))];
}

async function devicesOf(context) {
  const answer = await context.source.run(["devices", "--keys"]);
  const devices = answer.lines.filter(line => line.id);
  return { answer, devices, names: new Map(devices.map(device => [device.id, device.name])) };
}

function isNow(context) { return context.at === null || context.at === undefined; }

/** The words of a command as of the moment that is shown. */
function atMoment(context, words) { return isNow(context) ? words : [...words, "--at", context.at]; }

function nowRemark(context) {
  return isNow(context) ? null : el("p", { class: "faint" }, "Whatever moment the slider is at, this page shows the store as it is"
    + (context.source.fileHeader ? " at the newest moment of this file." : " now."));
}

/** A button with an item; its title comes a little later. */
function itemButton(context, library, id, isFavorite) {
  const title = el("bdi", { class: "item-title" }, id);
  const heart = isFavorite === undefined ? null : el("span", { role: "img", "aria-label": isFavorite ? "favorite" : "not a favorite" }, isFavorite ? "♥ " : "♡ ");
  const button = el("button", { class: "item", "data-key": `open ${library} ${id}`, onclick: () => context.openItem(library, id) },
    heart, title, " ", el("span", { class: "faint" }, library));
  return { button, library, id, title };
}

/** Asks for the titles of items, one after the other, as long as they are on the page. */
async function fillTitles(context, buttons) {
  const titles = new Map();
  for (const { button, library, id, title } of buttons) {
    const key = JSON.stringify([library, id]);
    if (!titles.has(key)) {
      const answer = await context.source.run(itemWords("show", { library, id }, atMoment(context, []))).catch(() => null);
      if (!answer || !button.isConnected) return;
      titles.set(key, answer.lines.length > 0 ? titleOf(library, answer.lines[0]) : "");
    }
    if (titles.get(key)) {
      title.textContent = visible(titles.get(key));
      button.append(" ", el("bdi", { class: "faint item-id" }, id));
    }
  }
}

/** The places of verification and doctor: they read every byte, so they run when they are asked to, and what they said
 * stays. A page that is built again while one runs shows the same place. */
const slowPlaces = new Map();

function slowPlace(command) {
  if (!slowPlaces.has(command)) slowPlaces.set(command, el("div"));
  return slowPlaces.get(command);
}

/** Runs a command that takes a while, with a sign that it does. `parts` makes its answer a list of elements. */
async function runSlowly(context, command, doing, parts) {
  const place = slowPlace(command);
  const seconds = el("span");
  place.replaceChildren(el("p", { role: "status" }, doing), el("progress", { "aria-label": doing }), seconds);
  const start = performance.now();
  const elapsed = () => (performance.now() - start) / 1000;
  const timer = setInterval(() => { seconds.textContent = ` ${Math.floor(elapsed())} s`; }, 500);
  try {
    const answer = await context.source.run([command]);
    const text = context.source.fileHeader ? "As it was when this page was made." : `As of ${timeText(Date.now(), "second")}; took ${elapsed().toFixed(1)} s.`;
    fill(place, el("p", { role: "status", class: "faint" }, text), parts(answer));
  } catch (error) {
    place.replaceChildren(problem(error.message));
  } finally {
    clearInterval(timer);
  }
}

/** A mark with a word: never the color alone. */
const good = text => el("span", { class: "good" }, `✓ ${text}`);
const bad = text => el("span", { class: "bad" }, `✗ ${text}`);

// MARK: Conflicts

async function conflictsPage(context, again) {
  if (isBeforeAll(state.here)) return [el("p", {}, "There were no conflicts before the first commit.")];
  const { names } = await devicesOf(context);
  const source = context.source;
  const all = atMoment(context, ["conflicts"]);
  const load = async from => {
    const words = context.library ? [...all, "--", context.library] : all;
    return source.run(words, { from, count: conflictsAtOnce });
  };
  let answer = await load(0);
  const list = el("div", { class: "conflicts" });
  const row = await inSteps(answer.total, async from => {
    if (from > 0) answer = await load(from);
    const conflicts = answer.lines.filter(line => line.writes);
    const buttons = conflicts.map(conflict => itemButton(context, conflict.library, conflict.id));
    list.append(...conflicts.map((conflict, index) => conflictCard(conflict, buttons[index].button, context, names, again)));
    setTimeout(() => fillTitles(context, buttons));
    return answer.lines.length;
  });
  const where = context.library ? [" in ", bdi(context.library)] : [];
  return [
    answer.exit === 0 ? null : problem(answer.error),
    el("p", {}, el("strong", {}, answer.total === 0 ? "No open conflicts" : plural(answer.total, "open conflict")), where, isNow(context) ? "." : " at this moment."),
    answer.total === 0 ? null : el("p", { class: "faint" }, "In an open conflict, devices gave a favorite or a field different values, and none had seen "
      + "what the others wrote. All devices show the later write; the others are kept."),
    isNow(context) || source.readOnly ? null : el("p", { class: "faint" }, "To choose a side, go to the newest moment first."),
    list, row,
  ];
}

function sideValue(conflict, write) {
  if (conflict.register === "field") return write.value === null || write.value === undefined ? "(none)" : valueOf(write.value);
  return write.isFavorite ? ["♥ favorite since ", time(write.favoritedDate, "second")] : "♡ not a favorite";
}

/** Who knew what, and why one side is shown. */
function whyShown(writes) {
  const [shown, other] = writes;
  const knew = writes.length === 2 ? "Neither had seen the other’s write" : "None had seen the others’ writes";
  if (shown.stamp === other.stamp) return `${knew}. The stamps are equal, so the higher replica is shown.`;
  return `${knew}. The later stamp is shown${stampMs(shown.stamp) === stampMs(other.stamp) ? "; both are of one millisecond, and the counter decides" : ""}.`;
}

function conflictCard(conflict, button, context, names, again) {
  const writes = conflict.writes;
  const about = conflict.register === "field" ? ["field ", bdi(conflict.field)] : "favorite or not";
  return el("article", { class: "conflict-card" }, el("h3", {}, button), el("p", {}, about),
    el("ul", { class: "sides" }, writes.map(write => el("li", { class: write.isShown ? "shown" : "" },
      el("p", { class: "side" }, write.isShown ? "✓ shown" : "other"), el("p", {}, sideValue(conflict, write)),
      el("p", { class: "faint" }, deviceLabel(write.replica, names), `, event ${write.sequence}`, el("br"),
        time(stampMs(write.stamp), "second"), ", stamp ", el("code", {}, write.stamp)),
      context.source.readOnly || !isNow(context) ? null : el("button", {
        "data-key": `choose ${eventID(write)} ${conflict.library} ${conflict.id} ${conflict.field || ""}`, onclick: () => chooseConflictSide(conflict, write, context, names, again) }, write.isShown ? "Keep this" : "Choose this")))),
    el("p", { class: "faint" }, whyShown(writes)));
}

async function chooseConflictSide(conflict, write, context, names, again) {
  const about = conflict.register === "field" ? conflict.field : "favorite or not";
  const event = eventID(write), shown = shortID(event);
  const value = conflict.register === "field" ? lineOf(write.value) || "(none)" : write.isFavorite ? "♥ favorite" : "♡ not a favorite";
  const device = names.get(write.replica) || write.replica.slice(0, 8);
  const answer = await context.act({
    title: "Choose this side of the conflict?", words: ["conflicts", "--choose", event], button: "Choose this side",
    preview: [el("p", {}, bdi(conflict.library), " ", bdi(conflict.id), ", ", bdi(about), ":"), el("p", {}, el("strong", {}, bdi(value))),
      el("p", {}, "This is what ", bdi(device), ` wrote, event ${shown}.`),
      el("p", { class: "faint" }, "A new event writes it again. That resolves the conflict on every device that receives the event, and with it every other conflict "
        + "that has this event as a side. Nothing leaves the log, and an undo takes it back.")],
  });
  if (answer) await again();
}

// MARK: Devices

async function devicesPage(context, again) {
  const { answer, devices, names } = await devicesOf(context);
  const [forks, schemas] = await Promise.all([["devices", "forks"], ["devices", "schemas"]].map(words => context.source.run(words)));
  return [
    nowRemark(context), answer.exit === 0 ? null : problem(answer.error),
    deviceTable(devices), keySection(devices, names, context, again),
    forkSection(forks, names), schemaSection(schemas),
  ];
}

function clockWords({ wallClockAheadSeconds: ahead, latestTime }) {
  if (ahead >= 1) return `${ahead >= 3600 ? plural(Math.round(ahead / 360) / 10, "hour") : plural(Math.round(ahead), "second")} ahead`;
  return latestTime && Date.parse(latestTime) > Date.now() ? `was ahead, at ${timeText(latestTime)}, and was set back` : "not ahead";
}

function standing(device) {
  return [device.isOwn && "this device", device.isRetired && "retired", device.isEnded && "forked: its two histories continue as separate replicas"]
    .filter(remark => remark).join(", ") || "in use";
}

function signedWords(commits, signed) {
  if (!signed) return "nothing signed";
  if (signed > commits) return `commit ${number(signed)}; only ${number(commits)} can be read here`;
  return commits > signed ? `commit ${number(signed)}; ${number(commits - signed)} later not signed` : `commit ${number(signed)}, all`;
}

function deviceTable(devices) {
  return dataTable("The devices whose events are in this store",
    ["device", figures("commits"), figures("events"), "signed up to", "last write", "clock", "state"],
    devices.map(device => [
      deviceLabel(device.id, new Map([[device.id, device.name]])), number(device.head), number(device.events),
      signedWords(device.head, device.signature ? device.signature.commits : 0),
      device.lastSeen ? time(device.lastSeen) : "never", clockWords(device), standing(device),
    ]));
}

/** A fingerprint in groups of four digits, as people compare it. */
function fingerprintText(fingerprint) { return (fingerprint.match(/.{1,4}/g) || []).join(" "); }

function keySection(devices, names, context, again) {
  const confirm = device => el("button", { "data-key": `confirm ${device.id}`, onclick: () => confirmKey(device, context, again) }, "Confirm…");
  const rows = devices.map(device => {
    const fingerprint = device.signature ? device.signature.fingerprint : device.fingerprint;
    const isUnknown = device.signature && !device.isOwn && !device.signature.isTrusted;
    const state = !fingerprint ? "has signed nothing yet" : device.isOwn ? "this device" : isUnknown ? "not confirmed" : good("confirmed");
    const witnesses = device.signature ? device.signature.witnesses : [];
    return [deviceLabel(device.id, names), fingerprint ? el("code", { class: "fingerprint" }, fingerprintText(fingerprint)) : "none",
      [state, isUnknown && !context.source.readOnly ? [" ", confirm(device)] : null],
      witnesses.length === 0 ? "nobody yet" : el("ul", { class: "plain" }, witnesses.map(witness => el("li", {}, deviceLabel(witness, names))))];
  });
  return pageSection("Keys", el("p", { class: "faint" }, "A device is known by its key from the first sync on. Only a comparison shows that it is the device you think it "
    + "is: compare the fingerprint with the one that “heartlog devices --keys” shows on that device."),
  dataTable("The key of each device", ["device", "fingerprint", "confirmed", "signature seen by"], rows));
}

async function confirmKey(device, context, again) {
  const fingerprint = device.signature.fingerprint;
  const answer = await context.act({
    title: `Confirm the key of ${device.name || device.id.slice(0, 8)}?`, words: ["devices", "trust", device.id, fingerprint], button: "They are the same: confirm",
    preview: [el("p", {}, "Run “heartlog devices --keys” on that device, and compare what it says about itself, digit by digit:"),
      el("p", {}, el("code", { class: "fingerprint" }, fingerprintText(fingerprint))),
      el("p", {}, "If one digit differs, cancel: what is here was not signed by that device."),
      el("p", { class: "faint" }, "The confirmation is kept in this store alone.")],
  });
  if (answer) await again();
}

function forkSection(answer, names) {
  const forks = answer.lines.filter(line => line.proof === "fork");
  if (forks.length === 0) return answer.exit === 65 ? pageSection("Forks", problem(answer.error)) : null;
  return pageSection("Forks", answer.exit === 0 ? null : problem(answer.error),
    el("p", {}, "These keys signed two histories: the folder was copied together with the key, or the past was rewritten. Both signed notes are kept."),
    forks.map(fork => dataTable(`Fork of ${names.get(fork.replica) || fork.replica.slice(0, 8)}`, ["note", figures("commits"), "root"], [
      ["first note, as signed", number(fork.commits), el("code", {}, fork.signedRoot)],
      ["the same commits in the other history", number(fork.commits), el("code", {}, fork.root)],
      ["second note, as signed", number(fork.checkpoint.size), el("code", {}, fork.checkpoint.root)],
    ])),
    el("p", { class: "faint" }, "Anybody can check the evidence with “heartlog verify FILE”, without a store:"),
    el("ul", {}, forks.map(fork => el("li", {}, bdi(fork.file)))));
}

function schemaSection(answer) {
  const rows = answer.lines.filter(line => line.library);
  if (rows.length === 0) return null;
  return pageSection("Versions of item types", dataTable("Which device runs which version of a library’s item type",
    ["library", "device", figures("version"), "last write", "old names"], rows.map(row => [
      bdi(row.library), deviceLabel(row.replica, new Map([[row.replica, row.name]])), [row.version, row.isAnnounced ? "" : " (not announced)"],
      row.lastSeen ? time(row.lastSeen) : "never", bdi(row.oldNames.join(", ") || "none")])));
}

// MARK: Verification

async function verificationPage(context) {
  const { devices } = await devicesOf(context);
  const own = new Set(devices.filter(device => device.isOwn).map(device => device.id));
  const place = slowPlace("verify");
  const run = () => runSlowly(context, "verify", "Reading every byte of the log and of the snapshots…", answer => verificationParts(answer, own));
  if (context.source.fileHeader && !place.firstChild) await run();
  return [
    nowRemark(context),
    el("p", {}, "Verification reads every byte of the log and of the snapshots, and compares it with checksums, hash trees and signatures."),
    context.source.fileHeader ? null : el("p", {}, el("button", { "data-key": "run", onclick: run }, "Verify")), place,
  ];
}

function verificationParts(answer, own) {
  const streams = answer.lines.filter(line => line.replica), snapshots = answer.lines.filter(line => line.snapshot);
  const names = new Map(streams.map(stream => [stream.replica, stream.name]));
  const verdict = answer.exit === 0 ? streams.length === 0 ? "The store is empty: there was nothing to verify." : good("Nothing is damaged.") : bad("Something is damaged.");
  if (streams.length + snapshots.length === 0) return [answer.exit === 0 ? el("p", {}, verdict) : null, problem(answer.error)];
  return [
    el("p", { class: "verdict" }, verdict), problem(answer.error),
    dataTable("The streams of the devices", ["device", "result", figures("commits"), figures("events"), figures("signed"), figures("not signed"), "key", "root"],
      streams.map(stream => [
        deviceLabel(stream.replica, names), stream.isSound ? good("sound") : bad("damaged"), number(stream.commits), number(stream.events),
        number(stream.signedCommits), number(Math.max(0, stream.commits - stream.signedCommits)),
        !stream.fingerprint ? "none" : own.has(stream.replica) ? "own" : stream.isTrusted ? "confirmed" : "not confirmed", el("code", { class: "root" }, stream.root)])),
    snapshots.length === 0 ? null : dataTable("The snapshots, which the log does not need", ["snapshot", "result", figures("events")],
      snapshots.map(snapshot => [bdi(snapshot.snapshot),
        !snapshot.isSound ? [bad("damaged"), ": ", bdi(snapshot.reason || "")] : snapshot.isOfUse === false ? "unused" : good("sound"), number(snapshot.events)])),
    pageSection("What this shows", el("ul", {}, streams.map(stream => el("li", {}, deviceLabel(stream.replica, names), `: ${meaningOf(stream, own)}`)),
      snapshots.some(snapshot => !snapshot.isSound) ? el("li", {}, "A snapshot is damaged. If it differs from the log, one of the two was changed: compare with another device.") : null)),
    pageSection("What it does not show", el("ul", {}, verificationLimits.map(limit => el("li", {}, limit)))),
    el("p", { class: "faint" }, "To check it yourself, run “heartlog verify” and “heartlog devices --keys”, and compare roots and fingerprints with another device."),
  ];
}

/** What is known of a stream after verification. */
function meaningOf(stream, own) {
  const sentences = [], signed = Math.min(stream.commits, stream.signedCommits), later = stream.commits - signed, commits = plural(stream.commits, "commit");
  if (stream.finding) {
    sentences.push(stream.finding.verdict === "torn" ? "The last batch was not finished, which is no damage: it was never acknowledged."
      : `Damaged: ${stream.finding.reason}${stream.finding.file ? `, ${stream.finding.file}` : ""}${stream.finding.offset === undefined ? "" : `, offset ${stream.finding.offset}`}.`);
  }
  sentences.push(`${stream.isSound ? `All ${commits} agree` : `The ${commits} before the damage agree`} with their checksums and with one hash tree. `
    + "That finds accidents; a person with write access can put checksums right.");
  if (stream.missingContents) sentences.push(`The content of ${plural(stream.missingContents, "event")} is missing, and no erasure explains it.`);
  if (!signed) return [...sentences, "Nothing is signed: who wrote these commits, and that nobody changed them since, is not proved."].join(" ");
  sentences.push(`Up to commit ${number(signed)} they are what the holder of the key signed: a change there, made without the key, would have been found.`);
  if (later > 0) sentences.push(`The ${plural(later, "commit")} after that ${later === 1 ? "is" : "are"} not signed yet, and could have been changed, added or cut off unnoticed.`);
  if (!own.has(stream.replica) && !stream.isTrusted) {
    sentences.push("Nobody has confirmed the key: it is the one that came at the first contact, and may be that of somebody in between.");
  }
  return sentences.join(" ");
}

const verificationLimits = [
  "Freshness: that there is nothing newer. A device may have written more that this store has not received, and a whole store can be put back to an earlier state.",
  "An honest clock: times are what the devices’ clocks said. The order of a device’s signed commits is proved, their times are not.",
  "Copies elsewhere: what was removed or erased here may exist on other devices, in backups, or in exports.",
  "Who held the device: a signature shows which key signed, not which person tapped.",
  "Completeness: that a device recorded everything that was done with it.",
];

// MARK: Doctor

async function doctorPage(context) {
  const place = slowPlace("doctor");
  const run = () => runSlowly(context, "doctor", "Examining the store…", doctorParts);
  if (!place.firstChild) run();
  return [nowRemark(context), place, context.source.fileHeader ? null : el("p", {}, el("button", { "data-key": "run", onclick: run }, "Examine again"))];
}

function doctorParts(answer) {
  const findings = answer.lines.filter(line => line.fault);
  const problems = findings.filter(finding => finding.severity === "problem").length, notices = findings.length - problems;
  const summary = `${problems === 0 ? "No problems" : plural(problems, "problem")}${notices > 0 ? `, ${plural(notices, "notice")}` : ""}.`;
  const isAnswered = answer.exit === 0 || findings.length > 0;
  return [
    isAnswered ? el("p", { class: "verdict" }, problems === 0 ? good(summary) : bad(summary)) : null, problem(answer.error),
    findings.map(finding => el("article", { class: `finding ${finding.severity === "problem" ? "is-problem" : ""}` },
      el("h3", {}, el("span", { class: "severity" }, finding.severity), " ", finding.what, finding.detail ? [": ", bdi(finding.detail)] : null),
      definitions([["where", el("bdi", { class: "value" }, finding.where)], ["why", finding.why], ["next", finding.next]]))),
  ];
}

// MARK: Statistics

let statisticsPeriod = "day";

async function statisticsPage(context, again) {
  if (isBeforeAll(state.here)) return [el("p", {}, "There were no events before the first commit.")];
  const by = statisticsPeriod;
  const answer = await context.source.run([...atMoment(context, ["stats", "--by", by]), ...context.library ? ["--", context.library] : []]);
  const choose = event => { statisticsPeriod = event.target.value; again(); };
  const periods = answer.lines.filter(line => line.kind === "period");
  const items = answer.lines.filter(line => line.kind === "item"), sources = answer.lines.filter(line => line.kind === "source");
  return [
    el("p", { class: "choices" }, el("label", {}, "By ", el("select", { "data-key": "by", onchange: choose },
      ["day", "week", "month"].map(period => el("option", { value: period, selected: period === by }, period)))),
    el("span", { class: "faint" }, context.library ? ["Events of ", bdi(context.library)] : "Events of all libraries", context.replica ? ", of all devices" : "")),
    answer.exit === 0 ? null : problem(answer.error),
    periods.length === 0 ? answer.exit === 0 ? el("p", {}, "No events.") : null : periodParts(periods, by),
    items.length === 0 ? null : tappedSection(items, context),
    sources.length === 0 ? null : pageSection("Events by device and origin", dataTable("Events by device and origin", ["device", "origin", figures("events")],
      sources.map(line => [deviceLabel(line.replica, new Map([[line.replica, line.name]])), line.origin ? bdi(line.origin) : "none", number(line.events)]))),
  ];
}

function tappedSection(items, context) {
  const buttons = items.map(item => itemButton(context, item.library, item.id, item.isFavorite));
  setTimeout(() => fillTitles(context, buttons));
  return pageSection("Most tapped", dataTable("Items that were switched most often", ["item", figures("taps")], items.map((item, index) => [buttons[index].button, number(item.taps)])));
}

/** The day on which a period begins. Periods are days of the zone in which the command ran. */
function dayOf(start) {
  const date = new Date(start);
  if (date.getHours() === 0 && date.getMinutes() === 0) return timeText(start, "day");
  return start.slice(11, 16) === "00:00" ? start.slice(0, 10) : timeText(start);
}

const periodHours = { day: 24, week: 168, month: 720 };

/** How many periods without events are between two; 0 if they follow each other. */
function periodsBetween(one, other, by) {
  return Math.max(0, Math.round((Date.parse(other.start) - Date.parse(one.start)) / (3600e3 * periodHours[by])) - 1);
}

function periodParts(periods, by) {
  const rows = [];
  periods.forEach((period, index) => {
    const left = index === 0 ? 0 : periodsBetween(periods[index - 1], period, by);
    if (left > 0) rows.push([`… ${plural(left, by)} without events`, "", "", "", ""]);
    rows.push([el("span", { class: "day" }, dayOf(period.start)), ...[period.favorited, period.unfavorited, period.changed, period.favoritesAtEnd].map(number)]);
  });
  const drawn = periods.slice(-periodsDrawnMax);
  const which = drawn.length < periods.length ? `The latest ${drawn.length} ${by}s with events are drawn.` : "";
  const first = by === "day" ? "day" : `${by} of`;
  return [
    which ? el("p", { class: "faint" }, which) : null,
    chartFigure(`Events by ${by}`, eventsChart(drawn, by), [["added", "Added, above the line"], ["changed", "Changed, above the line"], ["removed", "Removed, below the line"]]),
    chartFigure(`Favorites at the end of each ${by}`, favoritesChart(drawn, by), []),
    dataTable(`Events and favorites by ${by}`, [first, figures("added"), figures("removed"), figures("changed"), figures("favorites")], rows),
  ];
}

function chartFigure(caption, chart, legend) {
  const swatch = kind => svg("svg", { class: "swatch", viewBox: "0 0 12 12", "aria-hidden": "true" }, svg("rect", { class: kind, x: 1, y: 1, width: 10, height: 10 }));
  return el("figure", { class: "chart" }, el("figcaption", {}, caption),
    legend.length === 0 ? null : el("p", { class: "legend" }, legend.map(([kind, text]) => el("span", {}, swatch(kind), ` ${text} `))),
    el("div", { class: "chart-scroll", tabindex: 0, role: "region", "aria-label": caption }, chart));
}

/** A chart with a place for each period. `draw` answers shapes, by the places, their distance and the height of a value. */
function chart(title, description, periods, by, low, high, draw) {
  const step = Math.max(8, Math.min(56, Math.floor(900 / (periods.length + 1))));
  const places = [], decoration = [];
  let x = 44, free = 0;
  periods.forEach((period, index) => {
    if (index > 0 && periodsBetween(periods[index - 1], period, by) > 0) decoration.push(svg("text", { x: (x += 22) - 20, y: 178 }, "…"));
    places.push(x);
    if (x >= free) {
      decoration.push(svg("text", { x, y: 196 }, dayOf(period.start)));
      free = x + 84;
    }
    x += step;
  });
  const width = Math.max(x + 60, 320);
  const y = value => 12 + 150 * (high - value) / (high - low);
  return picture({ viewBox: `0 0 ${width} 204`, width, height: 204 }, title, `${description} The table below has the numbers.`,
    scaleLines(low, high, y, width), draw(places, step, y), decoration);
}

/** Lines at round numbers, with the numbers. */
function scaleLines(low, high, y, width) {
  const power = 10 ** Math.floor(Math.log10((high - low) / 5));
  const step = Math.max(1, [1, 2, 5, 10].map(factor => factor * power).find(step => (high - low) / step <= 5));
  const lines = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
    lines.push(svg("line", { class: value === 0 ? "axis" : "", x1: 38, x2: width, y1: y(value), y2: y(value) }),
      svg("text", { x: 34, y: y(value) + 4, "text-anchor": "end" }, Math.abs(value).toLocaleString("en-US", { notation: "compact" })));
  }
  return svg("g", { class: "scale" }, lines);
}

function eventsChart(periods, by) {
  const high = Math.max(1, ...periods.map(period => period.favorited + period.changed)), low = -Math.max(0, ...periods.map(period => period.unfavorited));
  const sum = name => number(periods.reduce((total, period) => total + period[name], 0));
  return chart(`Events by ${by}`, `${plural(periods.length, by)} with events: ${sum("favorited")} added, ${sum("unfavorited")} removed, ${sum("changed")} changed.`,
    periods, by, low, high, (places, step, y) => periods.map(({ start, favorited, unfavorited, changed }, index) => {
      const bar = (kind, from, to) => to === from ? null
        : svg("rect", { class: kind, x: places[index] + 1, y: y(to), width: Math.min(36, step - 3), height: y(from) - y(to) });
      return svg("g", {}, svg("title", {}, `${dayOf(start)}: ${favorited} added, ${unfavorited} removed, ${changed} changed`),
        bar("added", 0, favorited), bar("changed", favorited, favorited + changed), bar("removed", -unfavorited, 0));
    }));
}

function favoritesChart(periods, by) {
  const values = periods.map(period => period.favoritesAtEnd), high = Math.max(1, ...values);
  return chart(`Favorites at the end of each ${by}`, `From ${number(values[0])} to ${number(values.at(-1))}, at most ${number(high)}.`, periods, by, 0, high, (places, step, y) => {
    const x = index => places[index] + Math.min(36, step - 3) / 2;
    return [svg("polyline", { class: "curve", points: values.map((value, index) => `${x(index)},${y(value)}`).join(" ") }),
      values.map((value, index) => svg("circle", { class: "dot", cx: x(index), cy: y(value), r: step < 12 ? 2 : 3.5 },
        svg("title", {}, `${dayOf(periods[index].start)}: ${plural(value, "favorite")}`)))];
  });
}
