import {
  AgentCache,
  type AgentRequest,
  type Clock,
  type CachedContext,
  shortHash,
  type Store,
} from "@holdfast/engine";

import type { BlobId, OwnerId, SessionId } from "@holdfast/protocol";

import type { AgentTools } from "./mcp/mcp.ts";
import type { ModelRegistry } from "./models/registry.ts";
import type { SystemPrompt } from "./system-prompt.ts";

export interface AgentCacheDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly models: Pick<ModelRegistry, "defaultModel" | "open" | "fallbacks">;
  /** The tools available now. */
  readonly tools: (request: AgentRequest) => Promise<AgentTools>;
  /** A session's system prompt, frozen with the session. */
  readonly prompt: Pick<SystemPrompt, "signature" | "text">;
  /** Called for a session of an evicted agent: its memory is committed. */
  readonly onEvict: (session: SessionId) => Promise<void>;
  readonly report: (error: unknown) => void;
}

const megabyte = 1024 * 1024;
const limits = { bytes: 256 * megabyte, count: 200, idleMs: 30 * 60_000, baselines: 32 };
/** A rough estimate of a client and its tools. */
const agentBytes = 64 * 1024;
const closeBudgetMs = 10_000;
const memoryPressureRatio = 0.85;
const maxNames = 1_000;

/** The agents of this process, cached by lane. */
export function createAgentCache(deps: AgentCacheDeps): AgentCache<CachedContext> {
  const { store, clock, models, tools, prompt, onEvict, report } = deps;
  const names = new Map<string, string>();

  async function modelOf({ owner, session }: AgentRequest): Promise<string> {
    return (await store.reads.session(owner, session))?.model ?? models.defaultModel();
  }

  return new AgentCache<CachedContext>({
    factory: {
      async signature(request) {
        const name = await modelOf(request);
        const signature = [
          `model=${shortHash(name)}`,
          `owner=${shortHash(request.owner)}`,
          await prompt.signature(request),
          (await tools(request)).signature,
        ]
          .filter((part) => part !== "")
          .join(" ");
        names.set(signature, name);
        for (const oldest of names.keys()) if (names.size > maxNames) names.delete(oldest);
        return signature;
      },
      async build(request, signature) {
        // The session may name another model by now; this agent is cached under the one it was requested with.
        const name = names.get(signature) ?? models.defaultModel();
        const open = (modelName: string) =>
          models.open(modelName, (blobId) => readImage(store, request.owner, blobId));
        return {
          modelName: name,
          model: open(name),
          fallbacks: models
            .fallbacks(name)
            .map((fallback) => ({ name: fallback, model: open(fallback) })),
          system: () => prompt.text(request),
          tools: (await tools(request)).tools,
          bytes: agentBytes,
          close: async () => {},
        };
      },
    },
    readVersion: async (owner, session) =>
      (await store.reads.session(owner, session))?.version ?? null,
    clock,
    limits,
    beforeClose: async (_agent, sessions) => {
      await Promise.all(sessions.map(onEvict));
    },
    memory: memoryPressure,
    sizeOf: contextBytes,
    closeBudgetMs,
    onError: report,
  });
}

/** Providers accept no larger images, and each is sent again with every step. */
const maxImageBytes = 4 * megabyte;

async function readImage(
  { reads }: Pick<Store, "reads">,
  owner: OwnerId,
  blobId: BlobId,
): Promise<Uint8Array | null> {
  const blob = await reads.blob(owner, blobId);
  return blob === null || blob.bytes.byteLength > maxImageBytes ? null : blob.bytes;
}

function memoryPressure(): "enough" | "scarce" {
  const { rss } = process.memoryUsage();
  const limit = process.constrainedMemory();
  return limit > 0 && rss > limit * memoryPressureRatio ? "scarce" : "enough";
}

/** Each text is held twice: for its hash, and in the entries. */
function contextBytes({ hashes }: CachedContext): number {
  let characters = 0;
  for (const text of hashes.keys()) characters += text.length;
  return characters * 4;
}
