import { StoreFailure } from "@holdfast/engine";
import { sleep } from "@holdfast/protocol";
import type { Pool, PoolClient } from "pg";

import {
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
    return this.#withClient(async (client) => (await execute(client, statement, values)).rows);
  }

  /** Everything that `read` queries is from one instant. */
  snapshot<T>(read: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#withClient(async (client) => {
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      const result = await read(client);
      await client.query("COMMIT");
      return result;
    });
  }

  /** For changes outside of the log (to the search index) that may run twice. */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#withClient(async (client) => {
      await client.query("BEGIN");
      await client.query(
        `SET LOCAL idle_in_transaction_session_timeout = ${this.#settings.idleTransactionMs}`,
      );
      const result = await work(client);
      await client.query("COMMIT");
      return result;
    });
  }

  /** For checks that read whole tables: no timeout. */
  rowsWithoutTimeout({ text }: Statement): Promise<Row[]> {
    return this.#withClient(async (client) => {
      await client.query("BEGIN READ ONLY");
      await client.query("SET LOCAL statement_timeout = 0");
      const { rows } = await client.query<Row>({ text, ...noQueryTimeout });
      await client.query("COMMIT");
      return rows;
    });
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    await this.#pool.end();
  }

  async #withClient<T>(read: (client: PoolClient) => Promise<T>): Promise<T> {
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

  async #readOnce<T>(read: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    try {
      const result = await read(client);
      client.release();
      return result;
    } catch (error) {
      // Whatever state it is in, nobody else gets it.
      client.release(true);
      throw error;
    }
  }
}
