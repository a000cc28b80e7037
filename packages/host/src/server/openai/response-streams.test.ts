import { calls, says, thinks } from "@holdfast/testing/fakes/scripted-model";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import type OpenAI from "openai";
import { expect, test } from "vitest";
import { openOpenAi, type OpenAiRig } from "../../../test/support/openai-rig.ts";

type Event = OpenAI.Responses.ResponseStreamEvent;

const model = "holdfast";

async function eventsOf(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const isDelta = ({ type }: Event): boolean => type.endsWith(".delta");
const withoutDeltas = (events: readonly Event[]) => events.filter((event) => !isDelta(event));

/** The text that the deltas make of each item. */
function textOfItems(events: readonly Event[]): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const event of events)
    if ("delta" in event && "item_id" in event && typeof event.delta === "string")
      texts[event.item_id] = (texts[event.item_id] ?? "") + event.delta;
  return texts;
}

function idOfCreated([first]: readonly Event[]): string {
  if (first?.type !== "response.created") throw new Error("It was not created.");
  return first.response.id;
}

/** Thoughts, text, two calls at once, and an answer. */
function openLooking(): Promise<OpenAiRig> {
  const look = createTool("look", async () => okResult("a heron"));
  const script = [
    [thinks("Hm, ", "well."), says("I ", "look."), calls("look"), calls("look")],
    [says("A ", "grey ", "heron.")],
  ];
  return openOpenAi(script, { tools: [look] });
}

async function streamOf(rig: OpenAiRig): Promise<Event[]> {
  return eventsOf(await rig.openai.responses.create({ model, input: "Look", stream: true }));
}

/** What a client that has some events of a response gets; after a run has settled, deltas come joined. */
async function resume(rig: OpenAiRig, all: readonly Event[], after?: number): Promise<Event[]> {
  const cursor = after === undefined ? {} : { starting_after: after };
  const id = idOfCreated(all);
  return eventsOf(await rig.openai.responses.retrieve(id, { stream: true, ...cursor }));
}

test("a stream names its events by type and numbers them, each item is done before the next one, and [DONE] is last", async () => {
  const look = createTool("look", async () => okResult("a heron"));
  const script = [[thinks("Hm."), says("I look."), calls("look")], [says("A heron.")]];
  const rig = await openOpenAi(script, { tools: [look] });
  const answer = await fetch(`${rig.baseURL}/responses`, {
    method: "POST",
    headers: { ...rig.bearer, "content-type": "application/json" },
    body: JSON.stringify({ model, input: "Look", stream: true }),
  });
  const frames = (await answer.text())
    .split("\n\n")
    .filter((frame) => /^(event|data):/.test(frame));
  expect(frames.at(-1)).toBe("data: [DONE]");
  const events = frames.slice(0, -1).map((frame) => {
    const [name = "", data = ""] = frame.split("\n");
    const event = JSON.parse(data.slice("data: ".length)) as Event;
    expect(name).toBe(`event: ${event.type}`);
    expect(frame).not.toContain("\nid:");
    return event;
  });
  expect(events.map(({ type }) => type.replace("response.", ""))).toEqual([
    "created",
    "in_progress",
    "output_item.added",
    "content_part.added",
    "reasoning_text.delta",
    "reasoning_text.done",
    "content_part.done",
    "output_item.done",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "output_item.added",
    "output_item.done",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "completed",
  ]);
  const last = events.at(-1);
  if (last?.type !== "response.completed") throw new Error("It did not complete.");
  expect(last.response.output.map(({ type }) => type as string)).toEqual([
    "reasoning",
    "message",
    "holdfast:tool_call",
    "message",
  ]);
});

test("[P5] each event has a number of its own, and a client that was cut off after any of them gets exactly the rest", async () => {
  const rig = await openLooking();
  const all = await streamOf(rig);
  const numbers = all.map((event) => event.sequence_number);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  const replayed = await resume(rig, all);
  expect(withoutDeltas(replayed)).toEqual(withoutDeltas(all));
  for (const prunes of [false, true]) {
    if (prunes) await rig.store.prune(1_000);
    for (const [index, number] of numbers.entries()) {
      const whole = [...all.slice(0, index + 1), ...(await resume(rig, all, number))];
      expect(withoutDeltas(whole)).toEqual(withoutDeltas(all));
      expect(textOfItems(whole)).toEqual(textOfItems(all));
      const wholeNumbers = whole.map((event) => event.sequence_number);
      expect(wholeNumbers).toEqual([...new Set(wholeNumbers)].toSorted((a, b) => a - b));
    }
  }
});

test("a cursor between two numbers resumes with the later one, and one before the response with its first event", async () => {
  const rig = await openLooking();
  const all = await streamOf(rig);
  const gap = all.findIndex(
    ({ sequence_number }, index) =>
      index > 0 && sequence_number > (all[index - 1]?.sequence_number ?? 0) + 1,
  );
  const rest = await resume(rig, all, (all[gap]?.sequence_number ?? 0) - 1);
  expect(withoutDeltas(rest)).toEqual(withoutDeltas(all.slice(gap)));
  expect(withoutDeltas(await resume(rig, all, 0))).toEqual(withoutDeltas(all));
});

test("the library's own accumulator takes the stream of a response with thoughts and tools, live and replayed", async () => {
  const rig = await openLooking();
  const live = rig.openai.responses.stream({ model, input: "Look" });
  const response = await live.finalResponse();
  expect(response.output_text).toBe("I look.A grey heron.");
  const replayed = rig.openai.responses.stream({ response_id: response.id });
  expect((await replayed.finalResponse()).output).toEqual(response.output);
});

test("a cursor that is later than the conversation is refused, instead of a stream that misses everything", async () => {
  const rig = await openOpenAi([says("Hello.")]);
  const { id } = await rig.openai.responses.create({ model, input: "Hi" });
  const late = rig.openai.responses.retrieve(id, { stream: true, starting_after: 1_000_000 });
  await expect(late).rejects.toMatchObject({ status: 400, code: "invalid_cursor" });
});
