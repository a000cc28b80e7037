import {
  type MessageId,
  messageId,
  seq,
  type Seq,
  sessionId,
  type SessionId,
} from "@holdfast/protocol";

export const settingsSections = [
  "models",
  "tools",
  "mcp",
  "schedules",
  "gateway",
  "editors",
  "agent",
  "memory",
  "usage",
  "import",
  "appearance",
  "system",
] as const;
export type SettingsSection = (typeof settingsSections)[number];

/** What the page shows. Each route has one address, so reloads and links lead back to it. */
export type Route =
  /** `from` is the session that was open before. */
  | { readonly kind: "new"; readonly from: SessionId | null }
  | {
      readonly kind: "session";
      readonly id: SessionId;
      readonly at: Seq | null;
      /** What was searched for: marked wherever it occurs. Kept in the browser's history, not in the address. */
      readonly find?: string;
      /** The version of a message that `at` is part of, if that is out of view. */
      readonly version?: MessageId;
    }
  | { readonly kind: "settings"; readonly section: SettingsSection };

/** Only a query: the host serves one page, under any base path. */
export function hrefOf(route: Route): string {
  switch (route.kind) {
    case "new":
      return route.from === null ? "?" : `?from=${route.from}`;
    case "session":
      return [
        `?session=${route.id}`,
        ...(route.at === null ? [] : [`at=${route.at}`]),
        ...(route.version === undefined ? [] : [`version=${route.version}`]),
      ].join("&");
    case "settings":
      return `?settings=${route.section}`;
  }
}

/** Ignores what is invalid, so every address is a route. */
export function parseRoute(search: string): Route {
  const query = new URLSearchParams(search);
  const session = sessionId.safeParse(query.get("session"));
  if (session.success) {
    const at = seq.safeParse(Number(query.get("at") ?? Number.NaN));
    const version = messageId.safeParse(query.get("version"));
    return {
      kind: "session",
      id: session.data,
      at: at.success ? at.data : null,
      ...(version.success && { version: version.data }),
    };
  }
  const sectionName = query.get("settings");
  const section = settingsSections.find((name) => name === sectionName);
  if (section !== undefined) return { kind: "settings", section };
  const from = sessionId.safeParse(query.get("from"));
  return { kind: "new", from: from.success ? from.data : null };
}
