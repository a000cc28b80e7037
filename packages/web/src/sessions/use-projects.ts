import type { ProjectView } from "@holdfast/protocol";
import { useEffect } from "react";
import { useApp, useStore } from "../app-context.ts";

/** Empty until the host has answered. */
export function useProjects(): readonly ProjectView[] {
  const { projects } = useApp();
  useEffect(() => projects.load(), [projects]);
  const query = useStore(projects);
  return query.kind === "loaded" ? query.value.projects : none;
}

const none: readonly ProjectView[] = [];
