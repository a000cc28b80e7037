const hasFiles = (event: DragEvent): boolean =>
  event.dataTransfer?.types.includes("Files") ?? false;

/** A preview in a frame would get what is dragged over it; without pointer events the page gets it. */
function setDragging(isOver: boolean): void {
  document.documentElement.classList.toggle("dragging-files", isOver);
}

/** Where nobody takes files, such as in the settings, the browser must not leave the page to show one either. */
export function refuseDroppedFiles(): void {
  addEventListener("dragover", (event) => {
    if (!hasFiles(event) || event.dataTransfer === null) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "none";
  });
  addEventListener("drop", (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
}

interface DropHandlers {
  readonly onDragOver: (isOver: boolean) => void;
  readonly onDrop: (files: FileList) => void;
}

/**
 * Takes files that are dropped anywhere in the window: the browser would leave the page to show a file that nobody
 * takes. Returns a function that stops it.
 */
export function acceptDroppedFiles({ onDragOver, onDrop }: DropHandlers): () => void {
  const listening = new AbortController();
  const { signal } = listening;
  const show = (isOver: boolean): void => {
    setDragging(isOver);
    onDragOver(isOver);
  };
  addEventListener(
    "dragover",
    (event) => {
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      show(true);
    },
    { signal },
  );
  addEventListener(
    "dragleave",
    (event) => {
      // Only a pointer that leaves the window has nothing to go to.
      if (event.relatedTarget === null) show(false);
    },
    { signal },
  );
  addEventListener(
    "drop",
    (event) => {
      show(false);
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      onDrop(event.dataTransfer.files);
    },
    { signal },
  );
  return () => {
    listening.abort();
    setDragging(false);
  };
}
