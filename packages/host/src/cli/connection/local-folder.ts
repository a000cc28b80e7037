import type { ApiError, Result } from "@holdfast/client";
import { connectionStrings } from "../strings/connection.ts";
import type { HostConnection } from "./connect.ts";

/**
 * What a host says about a folder of this machine. `askable`: the owner here can allow it. `elsewhere`: the host has
 * other files, or the caller is an API key, which cannot allow a folder.
 */
export type LocalFolder =
  | { readonly state: "allowed" }
  | { readonly state: "askable" }
  | { readonly state: "refused"; readonly reason: string }
  | { readonly state: "elsewhere"; readonly why: "remote" | "key" }
  | { readonly state: "failed"; readonly error: ApiError };

/** Makes a request, and repeats it if that may help. */
export type MakeRequest = <T>(request: () => Promise<Result<T>>) => Promise<Result<T>>;

export const requestOnce: MakeRequest = (request) => request();

export async function checkLocalFolder(
  { client, isLocal }: Pick<HostConnection, "client" | "isLocal">,
  folder: string,
  makeRequest = requestOnce,
): Promise<LocalFolder> {
  if (!isLocal) return { state: "elsewhere", why: "remote" };
  const checked = await makeRequest(() => client.checkFolder({ query: { path: folder } }));
  if (!checked.ok)
    return checked.error.code === "forbidden"
      ? { state: "elsewhere", why: "key" }
      : { state: "failed", error: checked.error };
  const { state, reason } = checked.value;
  return state === "refused"
    ? { state, reason: reason ?? connectionStrings.folder.refused(folder) }
    : { state };
}
