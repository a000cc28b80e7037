import {
  type AgentFactory,
  type AgentRequest,
  type AgentSession,
  readableBlob,
  shortHash,
  type Store,
  type Tool,
} from "@holdfast/engine";

import type { BlobId, OwnerId, ReasoningEffort } from "@holdfast/protocol";

import type { AgentTools } from "./mcp/agent-tools.ts";
import type { ModelRegistry } from "./models/registry.ts";
import type { SystemPrompt } from "./system-prompt.ts";

export interface AgentFactoryDeps {
  readonly store: Store;
  readonly models: Pick<ModelRegistry, "defaultModel" | "open" | "fallbacks" | "learn">;
  /** The tools available now. */
  readonly tools: (request: AgentRequest) => Promise<AgentTools>;
  /** A session's system prompt, frozen with the session. */
  readonly prompt: Pick<SystemPrompt, "signature" | "text">;
  /** Those of the tools that a session has, in the form that it has them; by default all. */
  readonly toolsFor?: (
    session: AgentSession,
    all: ReadonlyMap<string, Tool>,
  ) => Promise<ReadonlyMap<string, Tool>>;
  /** The effort that a session's own brief asks for; `null` for that of the settings. */
  readonly effortOf?: (session: AgentSession) => Promise<ReasoningEffort | null>;
}

/** A rough estimate of a client and its tools. */
const agentBytes = 64 * 1024;
const memoryPressureRatio = 0.85;
const maxNames = 1_000;

/**
 * Builds an agent from a model and the available tools. Sessions of a lane share it wherever they work: the
 * prompt and workspace belong to the session's frame, and a tool gets its session from the run.
 */
export function createAgentFactory({
  store,
  models,
  tools,
  prompt,
  toolsFor,
  effortOf = async () => null,
}: AgentFactoryDeps): AgentFactory {
  const names = new Map<string, string>();

  async function modelOf({ owner, session }: AgentRequest): Promise<string> {
    return (await store.reads.session(owner, session))?.model ?? models.defaultModel();
  }

  return {
    async signature(request) {
      const name = await modelOf(request);
      // Before the first step, which compacts what does not fit the window.
      await models.learn(name);
      const { signature: toolsSignature } = await tools(request);
      const effort = await effortOf(request);
      const shared = joinParts(ownSignature(name, request.owner), toolsSignature);
      const signature = joinParts(shared, effort === null ? "" : `effort=${effort}`);
      names.set(signature, name);
      for (const oldest of names.keys()) if (names.size > maxNames) names.delete(oldest);
      return signature;
    },
    async build(request, signature) {
      // The session may name another model by now; this agent is cached under the one it was requested with.
      const name = names.get(signature) ?? models.defaultModel();
      const { tools: available, signature: toolsSignature } = await tools(request);
      // A session that has an effort of its own has a lane of its own too.
      const effort = await effortOf(request);
      const open = (modelName: string) =>
        models.open(
          modelName,
          (blobId, kind) => readAttachment(store, request.owner, blobId, maxSentBytes[kind]),
          effort,
        );
      return {
        modelName: name,
        model: open(name),
        fallbacks: models
          .fallbacks(name)
          .map((fallback) => ({ name: fallback, model: open(fallback) })),
        system: (session) => prompt.text(session, new Set(available.keys())),
        // Compared with stored frames: adding, removing or moving a part gives every session a new frame.
        frameSignature: async (session) =>
          joinParts(
            ownSignature(name, session.owner),
            await prompt.signature(session),
            toolsSignature,
          ),
        tools: available,
        ...(toolsFor && { toolsFor: (session) => toolsFor(session, available) }),
        bytes: agentBytes,
        close: async () => {},
      };
    },
  };
}

function ownSignature(model: string, owner: OwnerId): string {
  return `model=${shortHash(model)} owner=${shortHash(owner)}`;
}

function joinParts(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}

/** Providers accept no larger ones, and each is sent again with every step. */
const maxSentBytes = { image: 4 * 1024 * 1024, pdf: 16 * 1024 * 1024 } as const;

async function readAttachment(
  { reads }: Pick<Store, "reads">,
  owner: OwnerId,
  blobId: BlobId,
  maxBytes: number,
): Promise<Uint8Array | null> {
  const blob = await readableBlob(reads, owner, blobId);
  return blob === null || blob.bytes.byteLength > maxBytes ? null : blob.bytes;
}

export function memoryPressure(): "enough" | "scarce" {
  const { rss } = process.memoryUsage();
  const limit = process.constrainedMemory();
  return limit > 0 && rss > limit * memoryPressureRatio ? "scarce" : "enough";
}
