import type { SessionId } from "@holdfast/protocol";
import { useApp } from "../app-context.ts";
import { addressOf } from "../router/index.ts";
import { words } from "../words.ts";

interface SessionLinkProps {
  readonly id: SessionId;
  readonly label?: string;
}

/** Leads to the conversation in which something happened. */
export function SessionLink({ id, label = words.settings.openSession }: SessionLinkProps) {
  const { router } = useApp();
  const place = { kind: "session", id, at: null } as const;
  return (
    <a
      className="button plain"
      href={addressOf(place)}
      onClick={(event) => {
        event.preventDefault();
        router.go(place);
      }}
    >
      {label}
    </a>
  );
}
