import { Client } from "pg";

import {
  type ReplicatedPostgres,
  startReplicatedPostgres,
} from "@holdfast/testing/postgres/start-replicated";
import { Link } from "./links.ts";

/** The database of all machines: a primary, and a replica that can take its place. */
export interface Cluster {
  readonly url: () => URL;
  /** For processes outside of the machines: it leads to the primary, wherever that is. */
  readonly outsideUrl: string;
  restart(): Promise<void>;
  /** The primary dies, and the replica is promoted. Until another replica is added, there is none. */
  failOver(): Promise<void>;
  addReplica(commits: "synchronous" | "asynchronous"): Promise<void>;
  /** The replica gets nothing any more, and nobody notices. */
  starveReplica(): void;
  query<T extends object>(text: string, values?: unknown[]): Promise<T[]>;
  close(): Promise<void>;
}

export async function startCluster(onMoved: () => void): Promise<Cluster> {
  const postgres: ReplicatedPostgres = await startReplicatedPostgres();
  const url = (): URL => new URL(postgres.url);
  const outside = new Link(() => Number(url().port));
  await outside.listen(0);
  let replication: Link | undefined;
  const outsideUrl = url();
  outsideUrl.port = String(outside.port);
  return {
    url,
    outsideUrl: outsideUrl.href,
    restart: () => postgres.order({ do: "restart", mode: "immediate" }),
    async failOver() {
      await postgres.order({ do: "end primary" });
      await postgres.order({ do: "promote" });
      replication?.close();
      replication = undefined;
      outside.reset();
      onMoved();
    },
    async addReplica(commits) {
      const link = new Link(() => Number(url().port));
      await link.listen(0);
      replication = link;
      await postgres.order({ do: "add standby", commits, port: link.port });
    },
    starveReplica: () => replication?.set("silent"),
    async query<T extends object>(text: string, values: unknown[] = []) {
      const client = new Client({ connectionString: postgres.url });
      client.on("error", () => undefined);
      await client.connect();
      try {
        return (await client.query<T>(text, values)).rows;
      } finally {
        await client.end().catch(() => undefined);
      }
    },
    async close() {
      outside.close();
      replication?.close();
      await postgres.stop();
    },
  };
}
