import {
  describeSharedReread,
  readSharedRereadCost,
  type SharedRereadCost,
} from "@holdfast/client";
import { useEffect, useState } from "react";
import { useApp } from "../app-context.ts";
import { strings } from "../strings/strings.ts";

/** Says before a change what it will cost the conversations that it reaches, if that is worth a word. */
export function SharedRereadHint({ project }: { readonly project?: string }) {
  const { client } = useApp();
  const [cost, setCost] = useState<SharedRereadCost | null>(null);
  useEffect(() => {
    let isShown = true;
    const reached = project === undefined ? {} : { project };
    void readSharedRereadCost({ client, now: Date.now }, reached).then((read) => {
      if (isShown) setCost(read);
      return undefined;
    });
    return () => {
      isShown = false;
    };
  }, [client, project]);
  if (cost === null) return null;
  return (
    <p className="quiet">{`${strings.context.sharedChangeCosts} ${describeSharedReread(cost)}`}</p>
  );
}
