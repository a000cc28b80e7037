import { StoreFailure } from "@holdfast/engine";
import { sleep } from "@holdfast/protocol";
import type { Pool } from "pg";

import {
  asConnection,
  beginOf,
  createReaderPool,
  type Row,
  type Connection,
  execute,
  noQueryTimeout,
  type Statement,
  type SqlValue,
} from "../connection.ts";
import { retryDelayMs, storeFailureOf, classifyError } from "../errors.ts";
import type { Settings } from "../settings.ts";

/** Connections for reads. A read leaves nothing half done, so one that loses its connection is simply repeated. */
export class ReaderPool {
  readonly #pool: Pool;
  readonly #settings: Settings;
  #state: "open" | "closed" = "open";

  constructor(settings: Settings) {
    this.#pool = createReaderPool(settings);
    this.#settings = settings;
  }

  /** One statement is one snapshot. */
  async rows(statement: Statement, values: readonly SqlValue[]): Promise<Row[]> {
    return this.#withClient(
      async (connection) => (await execute(connection, statement, values)).rows,
    );
  }

  /** Everything that `read` queries is from one instant. */
  snapshot<T>(read: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#inTransaction("snapshot", read);
  }

  /** For changes outside of the log (to the search index) that may run twice. */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#inTransaction("change", work);
  }

  /** For checks that read whole tables: no timeout. */
  rowsWithoutTimeout({ text }: Statement): Promise<Row[]> {
    return this.#inTransaction("read", async (connection) => {
      await connection.query({ text: "SET LOCAL statement_timeout = 0" });
      return (await connection.query({ text, ...noQueryTimeout })).rows;
    });
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    await this.#pool.end();
  }

  #inTransaction<T>(
    use: Parameters<typeof beginOf>[1],
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    return this.#withClient(async (connection) => {
      await connection.query({ text: beginOf(this.#settings, use) });
      const result = await work(connection);
      await connection.query({ text: "COMMIT" });
      return result;
    });
  }

  async #withClient<T>(read: (connection: Connection) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    for (let tries = 0; ; tries += 1) {
      if (this.#state === "closed") throw new StoreFailure("store_closed", "The store was closed.");
      try {
        return await this.#readOnce(read);
      } catch (error) {
        const errorClass = classifyError(error);
        const isTransient = errorClass === "lost" || errorClass === "retry";
        const hasTimeLeft = tries === 0 || performance.now() - startedAt < this.#settings.giveUpMs;
        if (!isTransient || !hasTimeLeft) throw storeFailureOf(error);
        await sleep(retryDelayMs(tries));
      }
    }
  }

  async #readOnce<T>(read: (connection: Connection) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    try {
      const result = await read(asConnection(client, this.#settings));
      client.release();
      return result;
    } catch (error) {
      // Whatever state it is in, nobody else gets it.
      client.release(true);
      throw error;
    }
  }
}
