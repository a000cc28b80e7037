import { useEffect, useState } from "react";
import { useApp, useStore } from "../app-context.ts";
import { Settings } from "../settings/index.ts";
import { Conversation, Welcome } from "../talk/index.ts";
import { Icon, ToastList } from "../ui/index.ts";
import { words } from "../words.ts";
import { Sidebar } from "./sidebar.tsx";

/** The list at the side, and the place that the address names beside it. */
export function Shell() {
  const { router, list, toasts } = useApp();
  const place = useStore(router);
  const [isListOpen, setIsListOpen] = useState(false);
  useEffect(() => list.start(), [list]);
  // On a narrow screen the list covers the place: whoever has chosen one wants to see it.
  useEffect(() => router.subscribe(() => setIsListOpen(false)), [router]);
  const open = place.kind === "session" ? place.id : null;

  return (
    <div className={`shell${isListOpen ? " list-open" : ""}`}>
      <a className="skip" href="#place">
        {words.shell.skip}
      </a>
      <Sidebar open={open} onLeave={() => setIsListOpen(false)} />
      <button
        type="button"
        className="veil"
        aria-label={words.shell.closeList}
        tabIndex={-1}
        onClick={() => setIsListOpen(false)}
      />
      <main id="place" className="main" tabIndex={-1}>
        <button
          type="button"
          className="icon-button list-button"
          aria-label={words.shell.openList}
          title={words.shell.openList}
          onClick={() => setIsListOpen(true)}
        >
          <Icon name="menu" />
        </button>
        {place.kind === "session" && <Conversation key={place.id} id={place.id} at={place.at} />}
        {place.kind === "new" && <Welcome key={place.from ?? "new"} from={place.from} />}
        {place.kind === "settings" && <Settings section={place.section} />}
      </main>
      <ToastList toasts={toasts} />
    </div>
  );
}
