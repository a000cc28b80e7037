import { Client } from "pg";

/** Counts each statement that this process sends, in the driver: nothing can bypass it. */
export function recordStatements(): { readonly counts: ReadonlyMap<string, number>; stop(): void } {
  const counts = new Map<string, number>();
  const count = (text: string) => counts.set(text, (counts.get(text) ?? 0) + 1);
  const driver = Client.prototype as { query: (...values: unknown[]) => unknown };
  const { query } = driver;
  driver.query = function (this: unknown, ...values: unknown[]) {
    const [statement] = values;
    if (typeof statement === "string") count(statement);
    else if (isPrepared(statement)) count(statement.text);
    return query.apply(this, values);
  };
  return { counts, stop: () => void (driver.query = query) };
}

function isPrepared(statement: unknown): statement is { readonly text: string } {
  return typeof statement === "object" && statement !== null && "text" in statement;
}

/**
 * Those of the statements that hosts have prepared and that PostgreSQL refuses once each table has another column, as
 * after the migration of a newer version.
 */
export async function brokenByNewColumns(
  url: string,
  statements: Iterable<string>,
): Promise<readonly string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const prepared = [...statements].filter((text) =>
      /^[\s(]*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text),
    );
    for (const [index, text] of prepared.entries())
      await client.query(`PREPARE host_${index} AS ${text}`);
    const { rows } = await client.query<{ name: string }>(
      "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
    );
    for (const { name } of rows)
      await client.query(`ALTER TABLE ${name} ADD COLUMN of_tomorrow text`);
    const broken: string[] = [];
    for (const [index, text] of prepared.entries())
      if (!(await canExecute(client, index))) broken.push(text);
    return broken;
  } finally {
    await client.end();
  }
}

/** Plans a prepared statement again, without running it. */
async function canExecute(client: Client, index: number): Promise<boolean> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT cardinality(parameter_types) AS count FROM pg_prepared_statements WHERE name = 'host_${index}'`,
  );
  const values = Array.from({ length: rows[0]?.count ?? 0 }, () => "NULL").join(", ");
  try {
    await client.query(`EXPLAIN EXECUTE host_${index}${values === "" ? "" : `(${values})`}`);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "0A000") return false;
    throw error;
  }
}
