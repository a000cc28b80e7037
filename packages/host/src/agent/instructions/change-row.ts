import { type Register, type RegisterRow, StoreFailure } from "@holdfast/engine";

/**
 * Changes a row of the register, again from what it says now if somebody else was faster. `change` gets the value, or
 * `null` where there is no row; `null` from it leaves the row as it is.
 */
export async function changeRow(
  register: Register,
  { owner, key }: Pick<RegisterRow, "owner" | "key">,
  change: (value: string | null) => string | null | Promise<string | null>,
): Promise<void> {
  for (;;) {
    const row = await register.read(owner, key);
    const value = await change(row?.value ?? null);
    if (value === null) return;
    const put = await register.put({ owner, key, value, expect: row?.revision ?? 0 });
    if (put.status === "failed") throw new StoreFailure(put.code, put.message);
    if (put.status === "put") return;
  }
}
