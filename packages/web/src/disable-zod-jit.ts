import { z } from "zod";

// Imported before everything else: schemas ask for it when they are made. The page's policy allows no code from text, and zod
// need not try.
z.config({ jitless: true });
