import type { SessionId } from "@holdfast/protocol";
import { useApp } from "../app-context.ts";
import { linkTo } from "../router/link-to.ts";
import { words } from "../strings/strings.ts";

interface SessionLinkProps {
  readonly id: SessionId;
  readonly label?: string;
}

/** Leads to the conversation in which something happened. */
export function SessionLink({ id, label = words.settings.openSession }: SessionLinkProps) {
  const { router } = useApp();
  return (
    <a className="button plain" {...linkTo(router, { kind: "session", id, at: null })}>
      {label}
    </a>
  );
}
