// The live page of a run: takes the token out of the address, follows the run, draws each snapshot.

import {element} from "./draw.js";
import {formatWhen} from "./format.js";
import {bytesPart, headline, ledgerPart, machinePart, presencePart, progressPart, resultsPart, seenPart, timePart} from "./parts.js";
import {follow} from "./stream.js";

const KEY = "hekat-live-token";
const PARTS = [progressPart, presencePart, resultsPart, timePart, bytesPart, machinePart, seenPart, ledgerPart];

function takeToken() {
  const given = window.location.hash.slice(1);
  if (given) {
    window.sessionStorage.setItem(KEY, given);
    window.history.replaceState(null, "", "/");
  }
  return window.sessionStorage.getItem(KEY) ?? "";
}

function show(state) {
  document.title = `${state.run.job}: ${state.status}`;
  document.getElementById("title").textContent = state.run.job;
  const when = document.getElementById("when");
  when.replaceChildren("Run ", element("code", {}, state.run.run_id || "not begun"),
    state.run.started_at ? `, begun ${formatWhen(state.run.started_at)}` : "");
  document.getElementById("verdict").textContent = headline(state);
  document.getElementById("alarm").replaceChildren(...(state.run.protection === "none" ? [element("p", {class: "alarm", role: "alert"},
    element("strong", {}, "This run is NOT protected."), "Updates pass in the clear.")] : []));
  document.getElementById("parts").replaceChildren(...PARTS.map((part) => part(state)).filter(Boolean));
}

function say(isOn, text) {
  const link = document.getElementById("link");
  link.textContent = text;
  link.className = `link ${isOn ? "on" : "off"}`;
}

const token = takeToken();
if (token) {
  follow(token, show, say);
} else {
  say(false, "open the address that the run printed: it ends with the token");
}
