import type { Model } from "@holdfast/engine";
import { createKeyChecks } from "../../../src/agent/models/servers/key-checks.ts";
import { scriptedModel } from "@holdfast/testing/fakes/scripted-model";

import { createModelRegistry, type ModelRegistry } from "../../../src/agent/models/registry.ts";
import type { EncryptedRows } from "../../../src/ops/secrets/encrypted-rows.ts";
import type { SecretsKeySettings } from "../../../src/ops/secrets/secrets-key.ts";
import type { Secrets, StoredKey } from "../../../src/ops/secrets/secrets.ts";

/** Secrets kept in memory. */
export function memorySecrets(): Secrets {
  const kept = new Map<string, StoredKey>();
  return {
    read: (name) => kept.get(name) ?? null,
    put: async (name, stored) => void kept.set(name, stored),
    remove: async (name) => kept.delete(name),
    names: (prefix) => [...kept.keys()].filter((name) => name.startsWith(prefix)),
    keys: () => [...kept.values()].map(({ key }) => key),
  };
}

/** A home whose key for secrets is in its file. */
export function keySettings(home: string, key?: string): SecretsKeySettings {
  const { source } = unset;
  return {
    home: { value: home, source },
    secretsKey: { value: key, source },
    secretsKeyFile: { value: undefined, source },
  };
}

/** Texts kept in memory, where a host encrypts them. */
export function memoryRows(): Pick<EncryptedRows, "read" | "put" | "remove" | "reload"> {
  const kept = new Map<string, string>();
  return {
    read: (name) => kept.get(name) ?? null,
    put: async (name, text) => void kept.set(name, text),
    remove: async (name) => kept.delete(name),
    reload: async () => undefined,
  };
}

type ModelConfig = Parameters<typeof createModelRegistry>[0]["config"];
const unset = { value: undefined, source: { from: "default" } } as const;
export const noModelConfig: ModelConfig = {
  model: unset,
  modelFallback: { ...unset, value: [] },
  modelEffort: { ...unset, value: {} },
  smallModel: unset,
  openaiBaseUrl: unset,
  openaiApi: { ...unset, value: "responses" },
  anthropicBaseUrl: unset,
  googleBaseUrl: unset,
  ollamaBaseUrl: unset,
  models: { ...unset, value: {} },
  // Tests must not depend on what happens to run on this machine.
  localModels: { ...unset, value: "off" },
  spendPerRun: unset,
  spendPerDay: unset,
  spendPerSession: unset,
};

/** Without an environment, every name is a usable model. */
export function openTestModels(
  secrets: Secrets,
  environment: Readonly<Record<string, string>> | undefined,
): ModelRegistry {
  // Nothing listens there, so a test does not reach a server that happens to run on this machine.
  const ollamaBaseUrl = { ...unset, value: "http://127.0.0.1:9/v1" };
  const config = { ...noModelConfig, ollamaBaseUrl };
  const models = createModelRegistry({
    config,
    environment: environment ?? {},
    secrets,
    keyChecks: createKeyChecks(async () => Promise.reject(new TypeError("fetch failed"))),
  });
  return environment === undefined ? { ...models, check: () => null } : models;
}

/** One model under every name, and no small one. */
export function modelsOf(model: Model): ModelRegistry {
  const models = openTestModels(memorySecrets(), undefined);
  const none = scriptedModel([]);
  return {
    ...models,
    defaultModel: () => "scripted",
    smallModel: () => "small",
    open: (name) => (name === "small" ? none : model),
  };
}
