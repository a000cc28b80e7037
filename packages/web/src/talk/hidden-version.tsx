import type { SessionState } from "@holdfast/client";
import type { MessageId, Seq } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { strings } from "../strings/strings.ts";
import { Icon } from "../ui/icons.tsx";

interface HiddenVersionProps {
  readonly state: SessionState;
  readonly version: MessageId;
}

/** Says that a match is in a version out of view, and shows that version. The address then leads to the match itself. */
export function HiddenVersion({ state, version }: HiddenVersionProps) {
  const { client, router, toasts } = useApp();
  const [shownBy, setShownBy] = useState<Seq | null>(null);
  const isShown =
    (shownBy !== null && state.seq >= shownBy) ||
    state.entries.some((entry) => entry.type === "message" && entry.messageId === version);
  useEffect(() => {
    const route = router.read();
    if (!isShown || route.kind !== "session") return;
    const { version: _, ...shown } = route;
    router.replace(shown);
  }, [isShown, router]);

  async function show(): Promise<void> {
    const params = { id: state.session.id };
    const body = { messageId: version, interrupt: true };
    const result = await client.switchAlternative({ params, body });
    if (result.ok) setShownBy(result.value.seq);
    else toasts.show(problemText(result.error));
  }

  return (
    <div className="strip card">
      <Icon name="search" />
      <p>{strings.message.inOtherVersion}</p>
      <button type="button" className="button primary" onClick={() => void show()}>
        {strings.message.showVersion}
      </button>
    </div>
  );
}
