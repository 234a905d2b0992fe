// The parts of the page, each from the run's snapshot alone.

import {bars, curves, element, legend, section, table} from "./draw.js";
import {formatBytes, formatCount, formatMetric, formatNumber, formatSeconds, formatTime, nameMetric} from "./format.js";

const PHASES = {alone: "each party alone", plain: "all together, not encrypted", encrypted: "all together, encrypted",
  training: "training on the common rows"};
const STYLES = {alone: "s-alone", plain: "s-plain", encrypted: "s-encrypted", training: "s-encrypted"};
const PRESENCE = {awaited: "not heard of yet", present: "present", lost: "lost", ended: "was there to the end"};
const PLAYED = {"in turn": "all roles in one process of this machine", "at once": "each role in a process of its own on this machine",
  alone: "one role on this machine"};
const WORK = {keys: "making keys", train: "training", validate: "validation", encode: "encoding", deal: "dealing secrets", encrypt: "encrypting",
  send: "sealing, sending", open: "opening, checking", aggregate: "adding updates", decrypt: "decrypting", decode: "decoding", check: "checking sums", bin: "binning"};
// What a protocol counts, where that is no round.
const COUNTERS = {vertical_linear: "epoch", vertical_trees: "iteration", vertical_network: "epoch", horizontal_trees: "iteration"};
const SERIES = 6;
// Below so many values what a round sends beside the update is more than the update.
const SMALL_MODEL = 20000;

const counterOf = (state) => COUNTERS[state.run.protocol] ?? "round";
// Sums of an iteration across rows tell the losses of the model before it.
const momentOf = (state, point) => point.is_final ? `after the last ${counterOf(state)}` : `${state.run.protocol === "horizontal_trees" ? "before " : ""}${counterOf(state)} ${point.number}`;
const parties = (state) => state.participants.filter((one) => !one.is_central).length;

export function progressPart(state) {
  const {phase, step} = state;
  const last = [...state.rounds].reverse().find((one) => one.loss !== null);
  const figures = [
    [counterOf(state), phase ? `${formatCount(phase.done)} of ${formatCount(phase.total)}` : "not begun", phase ? PHASES[phase.name] ?? phase.name : ""],
    ["step", step ? step.group : "none yet", step ? [step.part, `${step.role}, ${formatTime(step.time)}`].filter(Boolean).join("; ") : ""],
    ["loss", last ? formatMetric("loss", last.loss) : "none yet", last ? `${momentOf(state, last)}, ${PHASES[last.phase] ?? last.phase}` : ""],
    [`last ${counterOf(state)} took`, secondsOfLast(state), ""],
  ];
  const cells = figures.map(([name, value, more]) => element("div", {}, element("dt", {}, name),
    element("dd", {}, value, ...(more ? [element("small", {}, more)] : []))));
  const works = state.works.filter((work) => work.done < work.total).map((work) =>
    element("p", {class: "note"}, `${work.name}: ${formatCount(work.done)} of ${formatCount(work.total)}`));
  const bar = phase ? element("progress", {max: phase.total || 1, value: phase.done, "aria-label": `${counterOf(state)}s done`}) : null;
  return section("How far the run is", bar, element("dl", {class: "figures"}, ...cells), ...works);
}

function secondsOfLast(state) {
  const last = [...state.rounds].reverse().find((one) => !one.is_final);
  return last && last.seconds !== null ? formatSeconds(last.seconds) : "not measured";
}

export function presencePart(state) {
  const items = state.participants.map((one) => element("li", {class: one.presence}, one.name, " ",
    element("span", {class: "state"}, `${PRESENCE[one.presence]}${one.last_heard ? `, heard ${formatTime(one.last_heard)}` : ""}`)));
  const lost = state.dropouts.map((one) => element("li", {}, `${one.party} was lost in ${one.step || "this run"}${one.reason ? `: ${one.reason}` : ""}`));
  return section("Who takes part", element("ul", {class: "here"}, ...items), lost.length ? element("ul", {}, ...lost) : null);
}

export function resultsPart(state) {
  if (state.rounds.length === 0) return null;
  const phases = [...new Set(state.rounds.map((one) => one.phase))];
  const lines = phases.map((phase) => ({name: PHASES[phase] ?? `encrypted at ${phase}`, style: STYLES[phase] ?? "s-3",
    dash: phase === "plain" ? "6 4" : "", points: state.rounds.filter((one) => one.phase === phase && one.loss !== null).map((one) => [one.number, one.loss])}))
    .filter((line) => line.points.length);
  const newest = phases.map((phase) => [...state.rounds].reverse().find((one) => one.phase === phase));
  const tested = state.run.tests_trained_on ? "rows that were trained on: says nothing of new ones" : "common test set";
  const rows = newest.flatMap((one) => [
    ...Object.entries(one.metrics).map(([name, value]) => [PHASES[one.phase] ?? one.phase, `${nameMetric(name)}, ${tested}`, formatMetric(name, value)]),
    ...Object.entries(one.validation).map(([name, value]) => [PHASES[one.phase] ?? one.phase, `${nameMetric(name)}, held-out rows of all`, name === "rows" ? formatCount(value) : formatMetric(name, value)]),
  ]);
  return section("Loss and metrics", lines.length ? curves("Training loss", counterOf(state), lines, (value) => formatNumber(value)) : null,
    rows.length ? table(state.run.protocol === "horizontal_trees" && !newest.every((one) => one.is_final) ? "Before the last iteration" : `After the last ${counterOf(state)}`, ["model", "metric", "value"], rows, {textColumns: 2}) : null);
}

export function timePart(state) {
  const roles = state.roles.filter((role) => Object.keys(role.seconds).length);
  if (roles.length === 0) return null;
  const kinds = [...new Set(roles.flatMap((role) => Object.keys(role.seconds)))];
  const total = (kind) => roles.reduce((sum, role) => sum + (role.seconds[kind] ?? 0), 0);
  const shown = kinds.sort((a, b) => total(b) - total(a));
  const style = (kind) => (shown.indexOf(kind) < SERIES - 1 || shown.length === SERIES ? `s-${shown.indexOf(kind) + 1}` : `s-${SERIES}`);
  const rows = roles.map((role) => {
    const parts = new Map();
    for (const kind of shown) parts.set(style(kind), (parts.get(style(kind)) ?? 0) + (role.seconds[kind] ?? 0));
    const own = [...parts.values()].reduce((sum, spent) => sum + spent, 0);
    if (role.waiting_s) parts.set("s-rule", role.waiting_s);
    return {name: role.role, parts: [...parts], text: formatSeconds(own + role.waiting_s)};
  });
  const waits = roles.some((role) => role.waiting_s);
  const few = shown.length <= SERIES;
  const entries = shown.slice(0, few ? SERIES : SERIES - 1).map((kind) => [style(kind), WORK[kind] ?? kind]);
  if (!few) entries.push([`s-${SERIES}`, `the rest: ${shown.slice(SERIES - 1).map((kind) => WORK[kind] ?? kind).join("; ")}`]);
  if (waits) entries.push(["s-rule", "waiting for others and the network"]);
  return section("Where the time goes", bars("Where each role's time goes", "seconds of this training so far", rows), legend(entries),
    waits ? null : element("p", {class: "note"}, "Own work. The roles take turns, so a wait for others would say nothing."));
}

export function bytesPart(state) {
  if (state.roles.length === 0) return null;
  const plain = state.plain_bytes;
  const rows = state.roles.map((role) => ({name: role.role, parts: [["s-1", role.sent_bytes], ["s-2", role.received_bytes]],
    text: formatBytes(role.sent_bytes + role.received_bytes)}));
  if (plain) rows.push({name: "a party, plain float32", parts: [["s-alone", plain], ["s-rule", plain]], text: formatBytes(2 * plain)});
  const largest = (name) => Math.max(0, ...state.roles.filter((role) => !isCentral(state, role.role)).map((role) => role[name]));
  const [up, down] = [largest("sent_bytes"), largest("received_bytes")];
  const beside = plain && up ? table("A party beside plain float32 numbers", ["direction", "sealed", "plain float32", "times"],
    [["up", formatBytes(up), formatBytes(plain), `${formatNumber(up / plain)}`], ["down", formatBytes(down), formatBytes(plain), `${formatNumber(down / plain)}`]],
    {note: `Plain: 4 bytes for each of ${formatCount(state.values_each_round)} values, in ${formatCount(state.rounds_sent)} rounds so far. Sealed: the largest party of this machine, with shares, signatures, set-up.${state.values_each_round < SMALL_MODEL ? " These do not grow with the model, and outweigh one this small." : ""}`}) : null;
  const messages = table("Messages", ["role", "sent", "up", "received", "down"], state.roles.map((role) => [role.role, formatCount(role.sent_count),
    formatBytes(role.sent_bytes), formatCount(role.received_count), formatBytes(role.received_bytes)]), {kind: "stacked"});
  return section("What is sent", bars("What each role sends and receives", "sealed bytes of this training so far", rows),
    legend([["s-1", "sent (up)"], ["s-2", "received (down)"], ...(plain ? [["s-alone", "plain float32 up"], ["s-rule", "plain float32 down"]] : [])]), beside, messages);
}

function isCentral(state, name) {
  return state.participants.some((one) => one.name === name && one.is_central);
}

export function machinePart(state) {
  const {machine} = state;
  const own = state.roles.filter((role) => role.memory_bytes > 0 && state.run.played === "at once");
  const figures = [
    ["processors in use", `${formatNumber(Number(machine.cpu_share.toFixed(2)))} of ${formatCount(machine.cores)}`, `${formatSeconds(machine.cpu_s)} in all`],
    ["memory", formatBytes(machine.memory_bytes), `at most ${formatBytes(machine.peak_memory_bytes)}`],
    ...Object.entries(machine.gpu).map(([name, value]) => [`GPU ${name}`, value, ""]),
  ];
  const cells = figures.map(([name, value, more]) => element("div", {}, element("dt", {}, name), element("dd", {}, value, ...(more ? [element("small", {}, more)] : []))));
  const processes = own.length ? table("Processes of the roles", ["role", "processor time", "memory"],
    own.map((role) => [role.role, formatSeconds(role.cpu_s), formatBytes(role.memory_bytes)])) : null;
  const gpu = Object.keys(machine.gpu).length ? "" : " Hekat uses no GPU here.";
  return section("This machine", element("dl", {class: "figures"}, ...cells), processes,
    element("p", {class: "note"}, `The process that serves this page: ${PLAYED[state.run.played]}.${gpu}`));
}

export function seenPart(state) {
  const {central, own_roles: own} = state.run;
  if (!central) return null;
  const here = own.includes(central);
  const title = here ? `What ${central} could see` : `What ${own.join(", ")} sent to ${central}`;
  const rank = ["disclosed", "ciphertext", "sealed", "public"];
  const told = state.seen.filter((one) => one.how !== "public" || one.what).sort((a, b) => rank.indexOf(a.how) - rank.indexOf(b.how));
  const others = state.seen.filter((one) => one.how === "public" && !one.what);
  const name = (one) => one.kind.split("/").pop();
  const rows = told.map((one) => [one.how, one.what, name(one), formatCount(one.message_count), formatBytes(one.byte_count)]);
  if (others.length) {
    rows.push(["public", "what all may know", others.map(name).join(", "), formatCount(others.reduce((sum, one) => sum + one.message_count, 0)),
      formatBytes(others.reduce((sum, one) => sum + one.byte_count, 0))]);
  }
  const note = here ? "From its own ledger, as declared for each field of each message; hekat audit verifies it after the run."
    : "From this role's own ledger. What others sent there is in their ledgers.";
  return section(title, rows.length ? table("By class of disclosure", ["class", "what it tells", "message", "messages", "bytes"], rows,
    {textColumns: 3, note, kind: "stacked"}) : element("p", {}, "Nothing yet."));
}

export function ledgerPart(state) {
  const rows = state.ledger.map((line) => [formatTime(line.time), line.role,
    line.direction === "sent" ? `sent to ${line.peer}` : line.direction === "received" ? `received from ${line.peer}` : line.direction,
    line.step, line.direction === "note" ? line.tells.map((one) => one.what).join("; ") : line.kind,
    [...new Set(line.tells.map((one) => one.how))].join(", "), line.payload_bytes ? formatBytes(line.payload_bytes) : ""]);
  return section("Last lines of the ledger", rows.length ? table(`The newest ${rows.length} of ${formatCount(state.ledger_lines)} lines`,
    ["time (UTC)", "role", "direction", "step", "message", "class", "bytes"], rows, {textColumns: 6, kind: "stacked"}) : element("p", {}, "No session is open yet."));
}

export function headline(state) {
  const words = {waiting: "is about to begin", running: "goes on", finished: "is finished", stopped: `stopped (${state.stopped_by})`};
  return `The run ${words[state.status]}: ${state.run.protocol}, ${parties(state)} parties, protection ${state.run.protection}.`;
}
