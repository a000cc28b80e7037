import type { Mutant } from "./mutant.ts";

const reducer = "packages/protocol/src/reducer/reduce.property.test.ts";
const frames = "packages/protocol/src/sse/frames.property.test.ts";
const client = "packages/protocol/src/client/follow.test.ts";

/** Faults that the protocol's property tests must notice. */
export const protocolMutants: readonly Mutant[] = [
  {
    fault: "the reducer takes an event that it holds already",
    file: "packages/protocol/src/reducer/reduce.ts",
    from: "if (event.seq <= state.seq) return state;",
    to: "",
    tests: reducer,
  },
  {
    fault: "a settled message is added and the live one stays",
    file: "packages/protocol/src/reducer/reduce.ts",
    from: "return changeLive(explained(added, event), event);",
    to: "return explained(added, event);",
    tests: reducer,
  },
  {
    fault: "missing numbers are not noticed",
    file: "packages/protocol/src/reducer/reduce.ts",
    from: "openGap(state.gaps, state.seq, event.seq)",
    to: "state.gaps",
    tests: reducer,
  },
  {
    fault: "pruned numbers are taken for lost ones",
    file: "packages/protocol/src/reducer/reduce.ts",
    from: "explainGaps(state.gaps, deltas)",
    to: "state.gaps",
    tests: reducer,
  },
  {
    fault: "a range ends one number early",
    file: "packages/protocol/src/reducer/late.ts",
    from: "(to === null || seq <= to)",
    to: "(to === null || seq < to)",
    tests: reducer,
  },
  {
    fault: "a prompt stays in the inbox after its run has begun",
    file: "packages/protocol/src/reducer/reduce.ts",
    from: "added.inbox.filter((item) => item.messageId !== event.data.messageId)",
    to: "added.inbox",
    tests: reducer,
  },
  {
    fault: "an ended run leaves its live parts behind",
    file: "packages/protocol/src/reducer/run.ts",
    from: "endedAt: at }, live: null }",
    to: "endedAt: at } }",
    tests: reducer,
  },
  {
    fault: "a delta replaces the text instead of growing it",
    file: "packages/protocol/src/reducer/live.ts",
    from: "text: old.text + text",
    to: "text",
    tests: reducer,
  },
  {
    fault: "a character that is split between two pieces is lost",
    file: "packages/protocol/src/sse/frames.ts",
    from: "utf8.decode(bytes, { stream: true })",
    to: "utf8.decode(bytes)",
    tests: frames,
  },
  {
    fault: "a CRLF that is split between two pieces ends two lines",
    file: "packages/protocol/src/sse/frames.ts",
    from: 'if (endedInReturn && text.startsWith("\\n")) text = text.slice(1);',
    to: "",
    tests: frames,
  },
  {
    fault: "a byte order mark is taken away anywhere",
    file: "packages/protocol/src/sse/frames.ts",
    from: "if (!begun && text.startsWith(byteOrderMark))",
    to: "if (text.startsWith(byteOrderMark))",
    tests: frames,
  },
  {
    fault: "an id without data hands its number to the next frame",
    file: "packages/protocol/src/sse/frames.ts",
    from: "    id = undefined;\n",
    to: "",
    tests: frames,
  },
  {
    fault: "the cursor is inclusive",
    file: "packages/protocol/src/client/follow.ts",
    from: "if (item.event.seq <= cursor) continue;",
    to: "if (item.event.seq < cursor) continue;",
    tests: client,
  },
  {
    fault: "a reconnect begins where the first connection began",
    file: "packages/protocol/src/client/follow.ts",
    from: "      cursor = item.event.seq;\n",
    to: "",
    tests: client,
  },
  {
    fault: "ids follow a clock that steps back",
    file: "packages/protocol/src/ids.ts",
    from: "latest = Math.max(latest, now());",
    to: "latest = now();",
    tests: "packages/protocol/src/ids.test.ts",
  },
  {
    fault: "a decoded event is a copy in another order",
    file: "packages/protocol/src/events/index.ts",
    from: 'return { kind: "known", event: event as KnownEvent };',
    to: 'return { kind: "known", event: { ...event, data: data.data } as KnownEvent };',
    tests: "packages/protocol/src/events/events.test.ts",
  },
];
