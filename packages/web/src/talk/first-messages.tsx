import { type ReactNode, useState } from "react";
import { formatDay } from "../ui/format-time.ts";

/** Messages of a conversation that is not read yet, where the transcript will show them. */
export function FirstMessages({ children }: { children: ReactNode }) {
  const [now] = useState(() => Date.now());
  return (
    <div className="transcript">
      <div className="entries first-messages">
        <p className="day">{formatDay(now)}</p>
        {children}
      </div>
    </div>
  );
}

/** A message that is on its way, as it will look. */
export function SentMessage({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <div className="message user begins">
      <div className="message-body">
        <p className="as-written" dir="auto">
          {text}
        </p>
      </div>
      <div className="message-foot late">{children}</div>
    </div>
  );
}
