import { runFsck, type Store } from "@holdfast/engine";

/** What is wrong with what is stored, in words; nothing, one hopes. */
export async function fsckFindings(store: Store): Promise<readonly string[]> {
  const { found, failure } = await runFsck(store.audit, { now: await store.now() });
  const findings = found.map(
    ({ code, table, key, message }) => `${code} ${table} ${key}: ${message}`,
  );
  return failure === undefined ? findings : [...findings, failure];
}
