import type * as Library from "@modelcontextprotocol/client";

/** The library is large: it is loaded when the first server is connected, and not at all where there is none. */
export type Sdk = typeof Library;

export async function loadSdk(): Promise<Sdk> {
  return import("@modelcontextprotocol/client");
}
