import type { OwnerId } from "@holdfast/protocol";

/** Who makes a request. */
export interface Principal {
  readonly ownerId: OwnerId;
  readonly by: "token" | "sign-in" | "api-key";
  readonly signInId?: string;
  /** The API key, with the rights profile that it names. */
  readonly apiKey?: { readonly id: string; readonly name: string; readonly profile: string };
  /** Opens blobs by their links: see `Credentials`. */
  readonly linkKey?: string;
  /** Proven within the last minutes, by the token itself or by signing in. */
  readonly isFresh: boolean;
  /** Aborted when the sign-in is revoked; whatever depends on it ends then. */
  readonly revoked: AbortSignal;
  /** Long-lived streams poll: a sign-in that expires, or is revoked by another host, raises no event here. */
  readonly isStillValid: () => boolean;
}

/** The principal as the audit trail shows it. */
export function principalName({ ownerId: acting, by, signInId, apiKey }: Principal): string {
  if (apiKey !== undefined) return `${acting} (API key ${apiKey.name})`;
  return by === "token" ? `${acting} (token)` : `${acting} (sign-in ${signInId ?? "unknown"})`;
}
