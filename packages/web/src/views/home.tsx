import { useEffect, useRef } from "react";
import { Mark } from "./mark.tsx";

export function Home() {
  const title = useRef<HTMLHeadingElement>(null);
  // The form that had the focus is gone; whoever reads with the keyboard goes on here.
  useEffect(() => title.current?.focus(), []);

  return (
    <div className="column">
      <Mark />
      <h1 ref={title} tabIndex={-1}>
        Conversations that hold
      </h1>
      <p className="lead">
        Holdfast hosts AI agents on a machine of yours. What you say to one outlives what carries
        it: a crash, a redeploy, a closed laptop.
      </p>
      <p className="shelf">No conversations yet. The first one will appear here.</p>
    </div>
  );
}
