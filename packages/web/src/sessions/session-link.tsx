import type { SessionId } from "@holdfast/protocol";
import { useApp } from "../app-context.ts";
import { linkProps } from "../router/router.ts";
import { strings } from "../strings/strings.ts";

interface SessionLinkProps {
  readonly id: SessionId;
  readonly label?: string;
}

export function SessionLink({ id, label = strings.settings.openSession }: SessionLinkProps) {
  const { router } = useApp();
  return (
    <a className="button plain" {...linkProps(router, { kind: "session", id, at: null })}>
      {label}
    </a>
  );
}
