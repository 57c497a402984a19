(figure, start, limits, head, pattern, layers) => {
    // The same model, the same sentence and the same picture as in explore.py and explore_chart.py, line by line.
    const K_TILES = 512, SPAN = 420, LEFT = 1600, LANE = 18, WINDOW = 4, NARROW = 250;

    function schedule({copy, math, stages, blocks}, kTiles) {
        const issued = Array.from({length: blocks}, () => Array(Math.max(stages - 1, 1)).fill(0));
        const waiting = issued.map((_, block) => [copy, 0, block]);
        const turns = [];
        let free = 0;
        for (let turn = 0; turn < blocks * kTiles; ++turn) {
            const [there, kTile, block] = waiting.reduce((a, b) =>
                (b[0] - a[0] || b[1] - a[1] || b[2] - a[2]) < 0 ? b : a);
            const begins = Math.max(there, free);
            free = begins + math;
            issued[block].push(stages > 1 ? there : free);
            waiting[block] = [Math.max(free, issued[block][kTile + 1] + copy), kTile + 1, block];
            turns.push([block, kTile, issued[block][kTile], begins]);
        }
        return turns;
    }

    const rounded = (a, b) => Math.floor((2 * a + b) / (2 * b));
    const count = (number, thing) => `${number} ${thing}${number > 1 ? "s" : ""}`;

    function words({copy, math, stages, blocks}, turns) {
        const begins = turns.filter(([block]) => block === 0).map(turn => turn[3]);
        const cycles = begins.at(-1) - begins.at(-1 - SPAN), kTiles = SPAN * blocks;
        const gain = (rounded(100 * kTiles * (copy + math), cycles) / 100).toFixed(2);
        return `Model: copy ${copy}, math ${math}, ${count(stages, "stage")}, ${count(blocks, "block")}. ` +
            `A k-tile every ${rounded(cycles, kTiles)}: ${gain} times as fast as one stage and one block. ` +
            `Math ${rounded(100 * kTiles * math, cycles)} % of the time.`;
    }

    function svg({copy, math, stages, blocks}, turns, name) {
        const window = WINDOW * (copy + math);
        const drawn = Object.fromEntries(Object.entries(layers).map(([layer, begin]) => [layer, begin.replace("{0}", name)]));
        const blockHeight = LANE * (stages + 1 + (blocks > 1)) + 6;
        const percent = hundredths => (hundredths / 100).toFixed(2) + "%";
        const at = time => LEFT + Math.floor((10000 - LEFT) * Math.min(time, window) / window);

        function label(y, text) {
            drawn.label += `<text x="0" y="${y + 13}">${text}</text>`;
        }

        function bar(layer, begin, end, y, text) {
            const left = at(begin), right = at(end);
            if (right > left)
                drawn[layer] += `<rect x="${percent(left)}" y="${y + 1}" width="${percent(right - left)}" height="${LANE - 2}"/>`;
            if (right - left >= NARROW)
                drawn["in " + layer] += `<text x="${percent(Math.floor((left + right) / 2))}" y="${y + 13}">${text}</text>`;
        }

        for (let block = 0; block < blocks; ++block) {
            const top = block * blockHeight;
            if (blocks > 1) label(top, `block ${block}`);
            for (let slot = 0; slot < stages; ++slot) label(top + LANE * (slot + (blocks > 1)), `slot ${slot}`);
            label(top + blockHeight - LANE - 6, "math");
        }
        const bottom = blocks * blockHeight;
        let free = 0;
        label(bottom, "idle");
        for (const [block, kTile, issued, begins] of turns) {
            const top = block * blockHeight + LANE * (blocks > 1);
            bar("copy", issued, issued + copy, top + LANE * (kTile % stages), kTile);
            bar("math", begins, begins + math, top + LANE * stages, kTile);
            bar("idle", free, begins, bottom, "");
            free = begins + math;
        }
        drawn.label += `<text x="16%" y="${bottom + 32}">0</text>` +
            `<text x="100%" y="${bottom + 32}" text-anchor="end">${window} cycles</text>`;
        return head.replace("{0}", bottom + 38) + pattern.replace("{0}", name) +
            Object.values(drawn).map(layer => layer + "</g>").join("") + "</svg>";
    }

    const [result, still] = [figure.querySelector("p"), figure.querySelector("img")];
    const setting = {...start};
    const picture = document.createElement("div");
    const lengths = document.createElement("div");
    window.courseFigures = (window.courseFigures || 0) + 1;
    const name = `hatch-${window.courseFigures}`;

    function draw() {
        const turns = schedule(setting, K_TILES);
        result.textContent = words(setting, turns);
        picture.innerHTML = svg(setting, turns, name);
    }

    for (const [length, [text, step]] of Object.entries({
        copy: ["copy latency, cycles", 8], math: ["math of a k-tile, cycles", 8],
        stages: ["stages (slots of a block)", 1], blocks: ["blocks on an SM", 1],
    })) {
        const label = document.createElement("label"), value = document.createElement("b"), slider = document.createElement("input");
        const [least, most] = limits[length];
        Object.assign(slider, {type: "range", min: least + (start[length] - least) % step, max: most, step, name: length});
        slider.value = value.textContent = start[length];
        slider.setAttribute("aria-label", text);
        // In JupyterLab keys typed here are meant for the slider, and for no cell.
        slider.dataset.lmSuppressShortcuts = "true";
        slider.addEventListener("input", () => {
            setting[length] = Number(value.textContent = slider.value);
            draw();
        });
        label.append(text + ": ", value, slider);
        lengths.append(label);
    }
    lengths.className = "lengths";
    figure.classList.add("live");
    figure.querySelector(".still").remove();
    figure.prepend(lengths);
    still.replaceWith(picture);
    draw();
    // For the tests.
    figure.model = setting => (turns => [words(setting, turns), svg(setting, turns, "still")])(schedule(setting, K_TILES));
}
