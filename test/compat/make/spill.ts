import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { serveWithClient } from "../../e2e/served-host.ts";
import { preload } from "../preload.ts";
import { liveText, type SpillSnapshot } from "../snapshot.ts";
import { createDriver, until } from "./driver.ts";
import type { ScenarioPlace } from "./scenario.ts";

export interface SpillPlace extends ScenarioPlace {
  /** From then on no write reaches the store. */
  readonly blockStore: () => void;
}

/** A host loses its store in the middle of an answer, goes on in a spill file, and is killed. */
export async function makeSpill(place: SpillPlace): Promise<SpillSnapshot> {
  const { home, store, onCleanup, blockStore } = place;
  const settings = { HOLDFAST_HOME: home, ...store, ...preload("make/set-hostname.ts") };
  const { host, client } = await serveWithClient(settings, onCleanup);
  const { createSession, send, follow, read } = createDriver(client);
  const id = await createSession();
  await send(id, "Tell me of the storm {rate:30}{words:2000}");
  await follow(id, (state) => liveText(state).split(" ").length > 12);
  const session = await read(id);
  blockStore();
  await until("a spill", () => spillLength(home) > 0);
  const begun = spillLength(home);
  await until("more in the spill", () => spillLength(home) > begun + 500);
  await host.kill();
  return { killedAt: Date.now(), session };
}

/** Where the last record begins: the file itself is preallocated. */
function spillLength(home: string): number {
  const folder = join(home, "spill");
  const [name] = readdirSync(folder).filter((file) => file.endsWith(".spill"));
  return name === undefined ? 0 : readFileSync(join(folder, name)).lastIndexOf("HFS1");
}
