import { createHash } from "node:crypto";

import { type Clock, type MemoryHandle, type MemoryOwner, systemClock } from "@holdfast/engine";
import { z } from "zod";

import { createOpenVikingClient, type OpenVikingServer } from "./client.ts";
import { deliver } from "./deliver.ts";

export type { OpenVikingServer } from "./client.ts";

const searchAnswer = z.looseObject({
  memories: z
    .array(z.looseObject({ abstract: z.string().nullish(), overview: z.string().nullish() }))
    .optional(),
});

const maxRecalled = 8;
const longestRecollection = 1_000;
const requestMs = 20_000;
/** Shorter than the committer's own timeout, so that the caller learns what is wrong. */
const workMs = 45_000;

/** Memory in an OpenViking server, via its HTTP API (`/api/v1`): a session per segment, and search for recall. */
export function openOpenViking(
  place: OpenVikingServer,
  clock: Clock = systemClock,
  limits: { readonly requestMs: number; readonly workMs: number } = { requestMs, workMs },
): MemoryHandle {
  const ask = createOpenVikingClient(place, clock, limits.requestMs);
  return {
    owner: ownerOf(place),
    commit: ({ owner, key, turns }, signal) =>
      deliver(
        { ask, clock, peer: peerOf(owner), signal, workMs: limits.workMs },
        `holdfast-${hashOf(key)}`,
        turns,
      ),
    learn: ({ owner, key, texts }, signal) =>
      deliver(
        { ask, clock, peer: peerOf(owner), signal, workMs: limits.workMs },
        `holdfast-${hashOf(key)}`,
        [{ at: Date.now(), messages: texts.map((text) => ({ role: "assistant", text })) }],
      ),
    async recall({ owner, text }, signal) {
      const peer = peerOf(owner);
      const body = {
        query: text,
        target_uri: `viking://~/peers/${peer}/memories`,
        context_type: "memory",
        limit: maxRecalled,
      };
      const path = "/api/v1/search/find";
      const answer = await ask({ method: "POST", path, body, peer, signal, answer: searchAnswer });
      if (answer.status === "failed") throw new Error(`${answer.code}: ${answer.message}`);
      return (answer.value.memories ?? [])
        .map(({ abstract, overview }) => (abstract || overview) ?? "")
        .filter((each) => each !== "")
        .slice(0, maxRecalled)
        .map((each) => ({ text: each.slice(0, longestRecollection) }));
    },
    close: async () => {},
  };
}

/** Identified by address alone: pending turns survive a change of the key. */
function ownerOf({ url }: OpenVikingServer): MemoryOwner {
  return { provider: "openviking", configuration: hashOf(url.replace(/\/+$/u, "")) };
}

/** One peer per owner: nobody is told what another has said. */
function peerOf(owner: string): string {
  return `holdfast-${hashOf(owner)}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
