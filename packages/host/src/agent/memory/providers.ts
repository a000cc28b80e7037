import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { MemoryHandle, MemoryOwner, MemoryProviders } from "@holdfast/engine";

import type { Config } from "../../ops/config/settings.ts";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { openFacts } from "./facts.ts";
import { openNotes } from "./notes.ts";
import type { OpenVikingServer } from "./openviking/client.ts";
import { loadModuleProvider } from "./module-provider.ts";
import { readTextOrEmpty } from "../../util/atomic-file.ts";

const builtInProviders = { facts: openFacts, notes: openNotes } as const;

export interface MemoryChoice {
  /** One that is built in, `openviking`, `off`, or the path of a module. */
  readonly choice: string;
  /** The server that can be reached, chosen or not: what was marked for it is still its own. */
  readonly openviking?: OpenVikingServer | undefined;
}

export interface ConfiguredMemory extends MemoryProviders {
  /** A handle to whoever remembers now. */
  readonly handle: MemoryHandle | null;
}

/** The providers as the settings name them. One that cannot be opened is told before anything else starts. */
export async function openConfiguredMemory({
  home,
  memory: { value: choice },
  openvikingUrl: { value: url },
  openvikingKey: { value: key },
}: Pick<Config, "home" | "memory" | "openvikingUrl" | "openvikingKey">): Promise<
  Outcome<ConfiguredMemory>
> {
  if (choice === "openviking" && url === undefined)
    return failed(
      "config.invalid",
      "HOLDFAST_MEMORY is openviking, and no server is named: set HOLDFAST_OPENVIKING_URL, like http://127.0.0.1:1933.",
    );
  const openviking = url === undefined ? undefined : { url, key };
  try {
    return done(await openMemoryProviders(home.value, { choice, openviking }));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return failed("config.invalid", `The memory ${choice} cannot be opened: ${reason}`);
  }
}

/** The providers. What was marked for one of them is committed by it also when another is chosen. */
export async function openMemoryProviders(
  home: string,
  { choice, openviking }: MemoryChoice,
): Promise<ConfiguredMemory> {
  const configuration = await homeId(home);
  const handles = Object.entries(builtInProviders).map(([provider, make]) =>
    make(home, { provider, configuration }),
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
  const reach = (asked: MemoryOwner) =>
    handles.find(
      ({ owner }) =>
        owner.provider === asked.provider && owner.configuration === asked.configuration,
    ) ?? null;
  return { handle, current: () => handle?.owner ?? null, open: async (owner) => reach(owner) };
}

function isModule(choice: string): boolean {
  return /\.(?:ts|mts|js|mjs)$/u.test(choice);
}

/** What is remembered lies in this home: its id goes with it wherever it is moved. */
async function homeId(home: string): Promise<string> {
  const folder = join(home, "memory");
  const file = join(folder, "id");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const fresh = randomBytes(8).toString("hex");
  // Whoever was first has named it.
  await writeFile(file, fresh, { flag: "wx", mode: 0o600 }).catch(() => undefined);
  return (await readTextOrEmpty(file)).trim();
}
