import {
  commands,
  encodeSseComment,
  encodeEventSseFrame,
  encodeListSseFrame,
  encodeResyncSseFrame,
  encodeSseRetry,
  encodeStatusSseFrame,
  encodeWatchedSseFrame,
  eventDefinitions,
  idPrefixes,
  ids,
  listHint,
  problemKinds,
  problemMediaType,
  resync,
  type Seq,
  storedEvent,
  streamStatus,
} from "@holdfast/protocol";
import { parseInput } from "@holdfast/client";
import { test } from "vitest";

import { schemaFacts, shapeFacts } from "./facts.ts";
import { blocksOf, frameFacts } from "./frames.ts";
import { expectSurface } from "./surface.ts";

test("events keep their types, versions and fields", () => {
  const facts = eventDefinitions.flatMap(({ type, v, schema }) =>
    schemaFacts(`${type} v${v}`, schema.toJSONSchema()),
  );
  expectSurface("events", [...facts, ...schemaFacts("envelope", storedEvent.toJSONSchema())]);
});

test("shapes used in many places keep their fields", () => {
  expectSurface("shapes", shapeFacts());
});

test("stream frames keep their names and fields", () => {
  const sample = { sessionId: ids.make("session") };
  const seq = 1 as Seq;
  const event = { seq, id: ids.make("event"), type: "session.trashed", v: 1, at: 0, data: {} };
  const written = {
    comment: encodeSseComment("text"),
    event: encodeEventSseFrame(event),
    list: encodeListSseFrame({ ...sample, session: null }),
    resync: encodeResyncSseFrame({ ...sample, reason: "ahead", seq }),
    retry: encodeSseRetry(1),
    status: encodeStatusSseFrame({ ...sample, code: "x", text: "x" }),
    watched: encodeWatchedSseFrame(sample.sessionId, event, new Map([[sample.sessionId, seq]])),
  };
  const facts = Object.entries(written).flatMap(([name, text]) =>
    blocksOf(text).flatMap((block) => frameFacts(`${name} frame`, block)),
  );
  const schemas = { list: listHint, resync, status: streamStatus };
  const fields = Object.entries(schemas).flatMap(([name, schema]) =>
    schemaFacts(`${name} data`, schema.toJSONSchema()),
  );
  expectSurface("frames", [...facts, ...fields]);
});

test("error codes keep their HTTP statuses", () => {
  const codes = Object.entries(problemKinds).map(([code, { status }]) => `${code}: ${status}`);
  expectSurface("error codes", [`media type: ${problemMediaType}`, ...codes]);
});

test("slash commands keep their names, aliases and arguments", () => {
  const names = commands.flatMap(({ name, aliases }) => [name, ...aliases]);
  const facts = names.flatMap((name) =>
    ["", " 3", " md", " some words"].map((argument) => {
      const typed = parseInput(`/${name}${argument}`);
      const meant = typed.kind === "command" ? `/${typed.invocation.name}` : "refused";
      return `/${name}${argument}: ${meant}`;
    }),
  );
  expectSurface("slash commands", facts);
});

test("ids keep their prefixes", () => {
  const facts = Object.entries(idPrefixes).map(([kind, prefix]) => `${kind}: ${prefix}_`);
  expectSurface("ids", facts);
});
