import { setTimeout as sleep } from "node:timers/promises";

import { lineOf } from "../harness/figures.ts";
import { makeScratch } from "../harness/scratch.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { startHost } from "../host/served-host.ts";
import { type Bench, postgresUrl } from "./bench.ts";
import { countStatements } from "./counting-relay.ts";

const most = { whole: 2, runner: 4 } as const;

/** What hosts ask of PostgreSQL while nobody asks anything of them. */
export const restingHosts: WorkloadDefinition<Bench> = {
  id: "rest",
  title: "statements of a host at rest",
  async measure({ backend, sizes }) {
    const measure = async (settings: Readonly<Record<string, string>>): Promise<number> => {
      await using database = await backend.createDatabase();
      await using relay = await countStatements(postgresUrl(database));
      const address = { kind: "postgres", url: relay.url } as const;
      await using host = await startHost(address, makeScratch("resting-host"), settings);
      await sleep(sizes.settleMs);
      const before = relay.statements();
      await sleep(sizes.restMs);
      if (host.memory() === 0) throw new Error("The host has ended.");
      return (relay.statements() - before) / (sizes.restMs / 1_000);
    };
    const whole = await measure({});
    const runner = await measure({ HOLDFAST_ROLES: "runner" });
    const params = { seconds: sizes.restMs / 1_000 };
    return {
      lines: [
        lineOf("a host", whole, "/s", { params, below: most.whole }),
        lineOf("a host with the role runner alone", runner, "/s", { params, below: most.runner }),
      ],
    };
  },
};
