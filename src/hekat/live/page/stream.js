// Server-sent events over fetch: EventSource cannot send the token, and a cookie would go to every port of this address.

const PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15000;

// Calls take(data) for each state, say(on, text) on each change of the connection, until the run's end or a refusal.
export async function follow(token, take, say) {
  let last = "";
  let pause = PAUSE_MS;
  let isOver = false;
  while (!isOver) {
    try {
      const answer = await fetch("/events", {headers: {Authorization: `Bearer ${token}`, ...(last ? {"Last-Event-ID": last} : {})},
        cache: "no-store", credentials: "omit", redirect: "error"});
      if (answer.status === 401) return say(false, "the token does not fit this run: open the address that the run printed");
      if (!answer.ok) throw new Error(String(answer.status));
      say(true, "live");
      pause = PAUSE_MS;
      for await (const event of eventsOf(answer.body)) {
        if (event.id) last = event.id;
        if (event.event === "state") take(JSON.parse(event.data));
        if (event.event === "end") isOver = true;
      }
    } catch {
      say(false, "no connection: the run has ended, or its machine is away");
    }
    if (!isOver) await new Promise((wake) => setTimeout(wake, pause));
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  }
  return say(false, "the run has ended; this is how it ended");
}

async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const blocks = (waiting + value).split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const event = {};
      for (const line of block.split("\n")) {
        const colon = line.indexOf(": ");
        if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 2);
      }
      yield event;
    }
  }
}
