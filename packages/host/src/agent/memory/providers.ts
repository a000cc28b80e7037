import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import type { MemoryHandle, MemoryOwner, MemoryProviders } from "@holdfast/engine";

import type { Config } from "../../ops/config/settings.ts";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { openFacts } from "./facts.ts";
import type { FactStore } from "./fact-store.ts";
import type { OpenVikingServer } from "./openviking/client.ts";
import { loadModuleProvider } from "./module-provider.ts";

/** When sessions get what each of them keeps. */
const builtInProviders = { facts: "when_it_fits", notes: "always" } as const;

export interface MemoryChoice {
  /** A built-in provider, `openviking`, `off`, or the path of a module. */
  readonly choice: string;
  /** Reachable even if not chosen: turns marked for it are still its own. */
  readonly openviking?: OpenVikingServer | undefined;
  /** Where the built-in providers keep what they find. */
  readonly facts: FactStore;
}

export interface ConfiguredMemory extends MemoryProviders {
  /** The chosen provider. */
  readonly handle: MemoryHandle | null;
}

/** Opens the configured providers. A failure is reported before anything else starts. */
export async function openConfiguredMemory(
  {
    home,
    memory: { value: choice },
    openvikingUrl: { value: url },
    openvikingKey: { value: key },
  }: Pick<Config, "home" | "memory" | "openvikingUrl" | "openvikingKey">,
  facts: FactStore,
): Promise<Outcome<ConfiguredMemory>> {
  if (choice === "openviking" && url === undefined)
    return failed(
      "config.invalid",
      "HOLDFAST_MEMORY is openviking, and no server is named: set HOLDFAST_OPENVIKING_URL, like http://127.0.0.1:1933.",
    );
  const openviking = url === undefined ? undefined : { url, key };
  try {
    return done(await openMemoryProviders(home.value, { choice, openviking, facts }));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return failed("config.invalid", `The memory ${choice} cannot be opened: ${reason}`);
  }
}

/** A turn marked for one provider is committed by it even when another is chosen later. */
export async function openMemoryProviders(
  home: string,
  { choice, openviking, facts }: MemoryChoice,
): Promise<ConfiguredMemory> {
  // Modules keep their files there.
  await mkdir(join(home, "memory"), { recursive: true, mode: 0o700 });
  const handles = Object.entries(builtInProviders).map(([provider, use]) =>
    openFacts(facts, { provider, configuration: "store" }, use),
  );
  if (openviking !== undefined) {
    const { openOpenViking } = await import("./openviking/provider.ts");
    handles.push(openOpenViking(openviking));
  }
  if (isModule(choice)) handles.push(await loadModuleProvider(choice, home));
  const chosen = isModule(choice)
    ? handles.at(-1)
    : handles.find(({ owner }) => owner.provider === choice);
  const handle = chosen ?? null;
  // What the built-in ones remember is in the store. Earlier versions named the home that a turn was completed in, and
  // its host may be gone: every other one can remember the turn as well.
  const findHandle = (wanted: MemoryOwner) =>
    handles.find(
      ({ owner }) =>
        owner.provider === wanted.provider &&
        (owner.provider in builtInProviders || owner.configuration === wanted.configuration),
    ) ?? null;
  return { handle, current: () => handle?.owner ?? null, open: async (owner) => findHandle(owner) };
}

function isModule(choice: string): boolean {
  return /\.(?:ts|mts|js|mjs)$/u.test(choice);
}
