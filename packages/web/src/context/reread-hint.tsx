import { describeReread, readRereadCost, type RereadCost } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { useApp } from "../app-context.ts";
import { strings } from "../strings/strings.ts";

/** Says before a change of the system prompt what it will cost this conversation, if that is worth a word. */
export function RereadHint({ id }: { id: SessionId }) {
  const { client } = useApp();
  const [cost, setCost] = useState<RereadCost | null>(null);
  useEffect(() => {
    let isShown = true;
    void readRereadCost({ client, sessionId: id }).then((read) => {
      if (isShown) setCost(read);
      return undefined;
    });
    return () => {
      isShown = false;
    };
  }, [client, id]);
  if (cost === null) return null;
  return <p className="quiet">{`${strings.context.changeCosts} ${describeReread(cost)}`}</p>;
}
