import { seq, type Seq, sessionId, type SessionId } from "@holdfast/protocol";

export const settingsSections = [
  "models",
  "tools",
  "mcp",
  "schedules",
  "gateway",
  "memory",
  "appearance",
  "system",
] as const;
export type SettingsSection = (typeof settingsSections)[number];

/** Where a person is. Each place has one address, and a reload or a link comes back to it. */
export type Route =
  /** `from` is the session that a new one leaves. */
  | { readonly kind: "new"; readonly from: SessionId | null }
  | { readonly kind: "session"; readonly id: SessionId; readonly at: Seq | null }
  | { readonly kind: "settings"; readonly section: SettingsSection };

/** In the query alone: the host serves one page, under whatever base path. */
export function hrefOf(place: Route): string {
  switch (place.kind) {
    case "new":
      return place.from === null ? "?" : `?from=${place.from}`;
    case "session":
      return `?session=${place.id}${place.at === null ? "" : `&at=${place.at}`}`;
    case "settings":
      return `?settings=${place.section}`;
  }
}

/** Any address is some place: what it does not name rightly it does not name. */
export function parseRoute(search: string): Route {
  const query = new URLSearchParams(search);
  const session = sessionId.safeParse(query.get("session"));
  if (session.success) {
    const at = seq.safeParse(Number(query.get("at") ?? Number.NaN));
    return { kind: "session", id: session.data, at: at.success ? at.data : null };
  }
  const named = query.get("settings");
  const section = settingsSections.find((each) => each === named);
  if (section !== undefined) return { kind: "settings", section };
  const from = sessionId.safeParse(query.get("from"));
  return { kind: "new", from: from.success ? from.data : null };
}
