import { createHash } from "node:crypto";
import { createRequire } from "node:module";

import type { MemoryAnswer, MemoryHandle, Recollection } from "@holdfast/engine";
import { z } from "zod";

/** Names of the built-in providers. */
const reservedNames = ["facts", "notes", "openviking", "off"];

type Provider = Pick<MemoryHandle, "commit" | "recall">;
type Learn = NonNullable<MemoryHandle["learn"]>;

const isFunction = (value: unknown): boolean => typeof value === "function";
const provider = z.object({
  commit: z.custom<Provider["commit"]>(isFunction, "expected a function"),
  recall: z.custom<Provider["recall"]>(isFunction, "expected a function"),
  learn: z.custom<Learn>(isFunction, "expected a function").optional(),
  close: z.custom<MemoryHandle["close"]>(isFunction, "expected a function").optional(),
});
const providerModule = z.object({
  /** Stored with each turn it has to remember. */
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,59}$/u, "expected a plain name")
    .refine((name) => !reservedNames.includes(name), "expected a name of its own"),
  /** Another configuration is another owner: one's pending turns are not given to the other. */
  configuration: z.string().min(1),
  open: z.custom<(deps: { readonly home: string }) => unknown>(isFunction, "expected a function"),
});

const answer = z.union([
  z.looseObject({ status: z.literal("committed") }),
  z.looseObject({
    status: z.literal("failed"),
    code: z.string().min(1),
    message: z.string(),
    retryAfterMs: z.number().nonnegative().optional(),
  }),
]);
const recollections = z.array(z.looseObject({ text: z.string() }));

/** A third-party provider from a file that the settings name. Its answers are validated like any outside data. */
export async function loadModuleProvider(file: string, home: string): Promise<MemoryHandle> {
  const loaded: unknown = createRequire(import.meta.url)(file);
  const { name, configuration, open } = providerModule.parse(loaded);
  const opened = provider.parse(await open({ home }));
  const { learn } = opened;
  const hash = createHash("sha256").update(configuration).digest("hex").slice(0, 32);
  return {
    owner: { provider: name, configuration: hash },
    commit: async (batch, signal) => decodeAnswer(await opened.commit(batch, signal)),
    ...(learn && { learn: async (lesson, signal) => decodeAnswer(await learn(lesson, signal)) }),
    recall: async (query, signal): Promise<readonly Recollection[]> =>
      recollections.parse(await opened.recall(query, signal)),
    close: async () => opened.close?.(),
  };
}

function decodeAnswer(value: unknown): MemoryAnswer {
  const parsed = answer.safeParse(value);
  if (!parsed.success) return noAnswer;
  if (parsed.data.status === "committed") return { status: "committed" };
  const { code, message, retryAfterMs } = parsed.data;
  return { status: "failed", code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** Anything but a confirmation counts as not committed. */
const noAnswer: MemoryAnswer = {
  status: "failed",
  code: "provider_said_nothing",
  message: "The provider did not say whether it has kept this.",
};
