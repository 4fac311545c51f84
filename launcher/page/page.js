/* page.js - the page of a run: shows what page_view.h says, which comes by server-sent events, or
 * is in the page itself, of a run that is over.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Texts of others (hosts, lines of ranks, causes) become text nodes, never HTML. */
'use strict';
(() => {
    const POINTS = 512, EVENTS = 64, RANK_MS = 2000, RETRY_MS = [1000, 2000, 5000, 10000, 30000];
    const STATES = {
        s: ['starting', '\u00b7'], r: ['running', ''], q: ['silent', '?'], d: ['done', '\u2713'],
        f: ['failed', '\u00d7'], x: ['stopped', '\u2013'], l: ['lost', '!'],
    };
    const LATE = [[1, 'b1', 'behind by 1'], [9, 'b2', 'behind by 2\u20139'], [Infinity, 'b3', 'behind by 10 or more']];
    const $ = (id) => document.getElementById(id);
    const run = { points: [], events: [] }; // what the messages have said, by its part
    let cells = [], places = [], at = 0, opened = -1, timer = 0, tries = 0, lost = null, isFile = false;

    /* --- small things ---------------------------------------------------------------- */

    const make = (name, text, kind) => {
        const element = document.createElement(name);
        if (text !== undefined && text !== null) element.textContent = text;
        if (kind) element.className = kind;
        return element;
    };
    const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };
    const clock = (s, withDay) => {
        const date = new Date(s * 1000);
        const day = withDay ? date.toLocaleDateString('sv') + ' ' : '';
        return day + date.toLocaleTimeString('sv');
    };
    const isToday = (s) => new Date(s * 1000).toDateString() === new Date().toDateString();
    const lasting = (s) => s === 0 ? '0 s' : s < 0.001 ? (s * 1e6).toFixed(0) + ' \u00b5s' : s < 1 ? (s * 1000).toFixed(s < 0.1 ? 1 : 0) + ' ms'
        : s < 60 ? s.toFixed(s < 10 ? 2 : 1) + ' s'
        : s < 3600 ? `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`
        : `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
    const number = (n) => n.toLocaleString('en').replace(/,/g, '\u202f');
    const short = (n) => Number(n.toPrecision(4)).toString();
    const many = (n, word) => `${number(n)} ${word}${n === 1 ? '' : 's'}`;

    /* "r*3,f": r, r, r, f */
    const column = (text) => text === '' ? [] : text.split(',').flatMap((part) => {
        const [value, times] = part.split('*');
        return new Array(Number(times || 1)).fill(value);
    });

    /* --- the head -------------------------------------------------------------------- */

    const isOver = () => run.state && run.state.state === 'ended';
    const lastStep = () => (run.step || []).reduce((most, one) => !most || one[1] > most[1] ? one : most, null);

    function showHead() {
        const about = run.run, now = run.state;
        if (!about || !now) return;
        const name = about.name || about.script || about.id;
        const words = now.state !== 'ended' ? now.hangs ? 'hangs' : now.state
            : now.status === null ? 'over' : now.status === 0 ? 'ended well' : `ended: exit ${now.status}`;
        const bad = now.hangs && now.state !== 'ended' || now.state === 'ended' && now.status !== 0 || now.state === 'died';
        document.title = `${words} \u2013 ${name}`;
        put($('name'), name);
        put($('state'), words);
        $('state').className = 'state ' + (bad ? 'bad' : now.state === 'ended' ? 'good' : now.state === 'running' ? '' : 'busy');
        put($('about'), [about.script !== name ? about.script : null, `run ${about.id}`, `muster on ${about.host}`,
            about.start ? `since ${clock(about.start, true)}` : null].filter(Boolean).join(' \u00b7 '));
    }

    function showFigures() {
        const now = run.state, step = lastStep(), times = stepTimes(), list = [];
        if (!now || !run.nodes) return;
        const late = cells.reduce((most, cell) => Math.max(most, cell.behind), 0);
        list.push(['Ranks', number(cells.length), `on ${many(run.nodes.length, 'node')}`]);
        if (step) list.push(['Step', number(step[1]), late > 0 ? `last rank ${number(late)} behind` : step[3]]);
        if (times.length) list.push(['Step time', lasting(median(times.slice(-16).map((one) => one[1]))), '']);
        if (now.loss !== null && now.loss !== undefined) list.push(['Loss', short(now.loss), '']);
        if (now.most > 0 || now.generation > 0) list.push(['Generation', number(now.generation), `at most ${now.most}`]);
        if (now.spares > 0) list.push(['Spares', number(now.spares), '']);
        for (const one of run.checkpoints || [])
            list.push([`Checkpoint ${one[0] || ''}`, number(one[1]), clock(one[2])]);
        const to = $('figures');
        while (to.children.length > list.length) to.lastChild.remove();
        list.forEach(([what, value, more], i) => {
            const box = to.children[i] || to.appendChild(make('div'));
            if (!box.firstChild) box.append(make('dt'), make('dd'));
            put(box.firstChild, what);
            if (box.lastChild.textContent !== value + (more ? ' ' + more : '')) {
                box.lastChild.textContent = value;
                if (more) box.lastChild.append(' ', make('small', more));
            }
        });
    }

    const median = (list) => list.slice().sort((a, b) => a - b)[Math.floor(list.length / 2)];

    /* --- the grid -------------------------------------------------------------------- */

    function makeGrid() {
        const grid = $('grid'), most = Math.max(...run.nodes.map((node) => node[0].length), 3);
        let widest = 1;
        cells = [];
        places = [];
        grid.replaceChildren();
        run.nodes.forEach((node, n) => {
            const [host, role, ranges, base] = node, row = make('div', null, 'node'), box = make('div', null, 'cells');
            row.setAttribute('role', 'row');
            const head = make('span', role ? `${host} ${role}` : host, 'host');
            head.setAttribute('role', 'rowheader');
            head.title = head.textContent;
            places[n] = [];
            for (let i = 0; i < ranges.length; i += 2)
                for (let rank = ranges[i]; rank <= ranges[i + 1]; rank++) {
                    const button = make('button', '', 'cell');
                    button.type = 'button';
                    button.tabIndex = -1;
                    button.dataset.at = cells.length;
                    button.setAttribute('role', 'gridcell');
                    places[n].push(cells.length);
                    cells.push({ button, rank, node: n, behind: -1, look: '',
                        name: `rank ${rank - base}${role ? ` of ${role}` : ''} on ${host}` });
                    box.append(button);
                }
            widest = Math.max(widest, places[n].length);
            row.append(head, box);
            grid.append(row);
        });
        grid.style.setProperty('--host', Math.min(Math.max(most * 0.55, 3), 12) + 'rem');
        grid.style.setProperty('--width', `calc(${Math.min(Math.max(most * 0.55, 3), 12)}rem + ${Math.min(widest, 32) * 22 + 12}px)`);
        at = Math.min(at, Math.max(cells.length - 1, 0));
        if (cells.length) cells[at].button.tabIndex = 0;
    }

    const lateOf = (state, behind) => state === 'r' && behind > 0 ? LATE.find((one) => behind <= one[0]) : null;

    function showGrid() {
        const states = column(run.ranks || ''), behind = column(run.behind || ''), counts = new Map();
        cells.forEach((cell, i) => {
            const state = states[i] || 's', late = lateOf(state, Number(behind[i]));
            cell.behind = state === 'r' ? Number(behind[i]) : -1;
            const key = late ? late[1] : state;
            counts.set(key, (counts.get(key) || 0) + 1);
            const look = `${state} ${cell.behind}`;
            if (look === cell.look) return;
            cell.look = look;
            cell.words = `${STATES[state][0]}${late ? `, ${many(cell.behind, 'step')} behind` : ''}`;
            cell.button.className = `cell ${key}`;
            cell.button.textContent = late ? Math.min(cell.behind, 99) : STATES[state][1];
            cell.button.title = `${cell.name}: ${cell.words}`;
            cell.button.setAttribute('aria-label', cell.button.title);
        });
        const legend = [];
        for (const [key, sign, words] of [['r', '', 'running'], ...LATE.map((one, i) => [one[1], ['1', '2', '10'][i], one[2]]),
            ...Object.entries(STATES).filter(([key]) => key !== 'r').map(([key, [words, sign]]) => [key, sign, words])])
            if (counts.has(key)) legend.push([key, sign, words, counts.get(key)]);
        const text = JSON.stringify(legend);
        if ($('legend').dataset.text === text) return;
        $('legend').dataset.text = text;
        $('legend').replaceChildren(...legend.map(([key, sign, words, count]) => {
            const item = make('li'), box = make('i', sign, `cell ${key}`);
            box.setAttribute('aria-hidden', 'true');
            item.append(box, make('b', number(count)), words);
            return item;
        }));
    }

    function moveTo(next) {
        if (next < 0 || next >= cells.length) return;
        cells[at].button.tabIndex = -1;
        at = next;
        cells[at].button.tabIndex = 0;
        cells[at].button.focus();
        if (opened >= 0) open(at, true);
    }

    function gridKey(event) {
        const cell = cells[at], row = cell && places[cell.node], i = row && row.indexOf(at);
        const other = (by) => {
            const to = places[cell.node + by];
            return to ? to[Math.min(i, to.length - 1)] : at;
        };
        if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
        const next = { ArrowRight: () => at + 1, ArrowLeft: () => at - 1, ArrowDown: () => other(1), ArrowUp: () => other(-1),
            Home: () => event.shiftKey ? 0 : row[0], End: () => event.shiftKey ? cells.length - 1 : row[row.length - 1],
            PageDown: () => cells.length - 1, PageUp: () => 0 }[event.key];
        if (!next) return;
        event.preventDefault();
        moveTo(next());
    }

    /* --- one rank -------------------------------------------------------------------- */

    function open(index, keepsFocus) {
        const cell = cells[index];
        if (opened >= 0 && cells[opened]) cells[opened].button.removeAttribute('aria-selected');
        opened = index;
        cell.button.setAttribute('aria-selected', 'true');
        put($('rank-title'), cell.name);
        put($('rank-about'), cell.words || '');
        $('lines').textContent = '';
        $('rank').hidden = false;
        document.body.classList.add('open');
        if (!keepsFocus) $('lines').focus();
        askRank();
    }

    function close() {
        if (opened < 0) return;
        const cell = cells[opened];
        clearTimeout(timer);
        opened = -1;
        $('rank').hidden = true;
        document.body.classList.remove('open');
        if (!cell) return;
        cell.button.removeAttribute('aria-selected');
        cell.button.focus();
    }

    async function askRank() {
        const index = opened, cell = cells[index];
        clearTimeout(timer);
        if (!cell) return;
        let about = null;
        if (isFile) {
            about = (run.lines || {})[cell.rank] || { words: null, lines: null };
        } else {
            try {
                const answer = await fetch(`rank?n=${cell.rank}`, { cache: 'no-store' });
                if (answer.ok) about = await answer.json();
            } catch (error) { /* it is tried again */ }
        }
        if (opened !== index) return;
        if (about) showRank(cell, about);
        if (!isFile && !isOver()) timer = setTimeout(askRank, RANK_MS);
    }

    function showRank(cell, about) {
        const pre = $('lines'), isAtEnd = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4;
        const late = cell.behind > 0 ? ` (${number(cell.behind)} behind)` : '';
        put($('rank-about'), [about.words || cell.words, about.pid ? `pid ${about.pid}` : null,
            about.step !== null && about.step !== undefined ? `step ${number(about.step)}${late}` : null].filter(Boolean).join(' \u00b7 '));
        put(pre, about.lines === null ? 'Its lines are not in this file.' : about.lines.length ? about.lines.join('\n') : 'It has written nothing yet.');
        if (isAtEnd) pre.scrollTop = pre.scrollHeight;
    }

    /* --- charts ---------------------------------------------------------------------- */

    /* Steps that go back begin a new curve: the ranks have started again. */
    function stepTimes() {
        const list = [], points = run.points;
        for (let i = 1; i < points.length; i++) {
            const steps = points[i][1] - points[i - 1][1];
            if (steps > 0) list.push([points[i][0], (points[i][0] - points[i - 1][0]) / steps]);
        }
        return list;
    }

    const restarts = () => run.points.filter((one, i) => i > 0 && one[1] < run.points[i - 1][1]).map((one) => one[0]);

    function showCharts() {
        const times = stepTimes(), losses = run.points.filter((one) => one[2] !== null).map((one) => [one[0], one[2]]);
        $('time').hidden = times.length < 2; // both, before either is as wide as it will be
        $('loss').hidden = losses.length < 2;
        chart($('time'), times, lasting, true);
        chart($('loss'), losses, short, false);
    }

    const svg = (name, attributes, text) => {
        const element = document.createElementNS('http://www.w3.org/2000/svg', name);
        for (const key in attributes) element.setAttribute(key, attributes[key]);
        if (text !== undefined) element.textContent = text;
        return element;
    };

    function chart(figure, points, words, fromZero) {
        if (figure.hidden) return;
        const box = figure.querySelector('svg') || figure.appendChild(svg('svg', { role: 'img' }));
        const width = figure.clientWidth - 32, height = 150, left = 58, low = height - 20, top = 8;
        const values = points.map((one) => one[1]), last = values[values.length - 1];
        const sorted = values.slice().sort((a, b) => a - b);
        const robust = sorted[Math.floor((sorted.length - 1) * 0.98)] * 1.5;
        const max = fromZero ? Math.min(sorted[sorted.length - 1], robust) * 1.15 || 1 : sorted[sorted.length - 1];
        const min = fromZero ? 0 : sorted[0], span = max - min || Math.abs(max) || 1;
        const begin = points[0][0], end = points[points.length - 1][0], room = end - begin || 1;
        const x = (s) => left + (s - begin) / room * (width - left - 8);
        const y = (value) => low - (Math.min(value, max) - min) / span * (low - top);
        const again = restarts(), parts = [];
        let part = '', gap = 0;
        points.forEach(([s, value]) => {
            const isNew = gap < again.length && s >= again[gap];
            while (gap < again.length && s >= again[gap]) gap++;
            if (isNew && part) { parts.push(part); part = ''; }
            part += `${part ? 'L' : 'M'}${x(s).toFixed(1)} ${y(value).toFixed(1)}`;
        });
        parts.push(part);
        const ticks = [min, min + span / 2, max === min ? min + span : max].map((value) => [
            svg('line', { class: 'axis', x1: left, x2: width - 8, y1: y(value), y2: y(value) }),
            svg('text', { x: left - 6, y: y(value) + 4, 'text-anchor': 'end' }, words(value))]);
        box.replaceChildren(...ticks.flat(), ...again.filter((s) => s >= begin).map((s) => svg('line', { class: 'again', x1: x(s), x2: x(s), y1: top, y2: low })),
            svg('text', { x: left, y: height - 4 }, clock(begin)), svg('text', { x: width - 8, y: height - 4, 'text-anchor': 'end' }, clock(end)),
            ...parts.map((d) => svg('path', { class: 'curve', d })),
            svg('circle', { class: 'point', r: 3, cx: x(end), cy: y(last) }));
        box.setAttribute('viewBox', `0 0 ${width} ${height}`);
        box.setAttribute('aria-label', `${figure.querySelector('h2').textContent}: last ${words(last)}, lowest ${words(sorted[0])}, highest ${words(sorted[sorted.length - 1])}`);
        const output = figure.querySelector('output');
        figure.said = `${words(sorted[0])} to ${words(sorted[sorted.length - 1])}`;
        if (!figure.pointed) put(output, figure.said);
        box.onpointermove = (event) => {
            const s = begin + (event.clientX - box.getBoundingClientRect().left - left) / (width - left - 8) * room;
            const one = points.reduce((near, each) => Math.abs(each[0] - s) < Math.abs(near[0] - s) ? each : near);
            figure.pointed = true;
            put(output, `${clock(one[0])}: ${words(one[1])}`);
        };
        box.onpointerleave = () => { figure.pointed = false; put(output, figure.said); };
    }

    /* --- generations, events, suspects ------------------------------------------------- */

    function showGenerations() {
        const rows = (run.generations || []).slice().reverse().map(([n, role, status, cause, from, to]) => {
            const row = make('tr'), isLast = status === null;
            const words = isLast ? !isOver() ? '' : run.state.status ? `exit ${run.state.status}` : 'the end of the run' : cause || `exit ${status}`;
            row.append(make('td', role ? `${n} ${role}` : n), make('td', from ? clock(from, !isToday(from)) : '\u2013'),
                make('td', from && to ? lasting(to - from) : isLast && !isOver() && from ? 'runs' : '\u2013'), make('td', words));
            return row;
        });
        $('generations').tBodies[0].replaceChildren(...rows);
    }

    function showEvents() {
        const list = run.events.slice().reverse().map(([, s, name, text]) => {
            const item = make('li');
            item.append(make('time', clock(s, !isToday(s))), make('b', name.replace(/_/g, ' ')), text);
            return item;
        });
        $('events').replaceChildren(...(list.length ? list : [make('li', 'none yet')]));
    }

    function showSuspects() {
        const list = run.suspects || [];
        $('suspects').hidden = list.length === 0;
        $('suspects').querySelector('ul').replaceChildren(...list.map((one) =>
            make('li', `${one.node}, in generation ${one.generation}: ${one.reason}${one.left_out ? '; the run goes on without it' : ''}`)));
    }

    /* --- messages ---------------------------------------------------------------------- */

    function take(message) {
        if (run.run && message.run && message.run.id !== run.run.id) { location.reload(); return; }
        const isWhole = message.nodes && message.run;
        if (isWhole) { run.points = []; run.events = []; }
        for (const key in message)
            if (key === 'points') run.points.push(...message.points);
            else if (key === 'events') run.events.push(...message.events);
            else run[key] = message[key];
        if (run.points.length > POINTS) run.points = run.points.filter((one, i) => i % 2 === 0);
        run.events = run.events.slice(-EVENTS);
        if (message.nodes) makeGrid();
        if (message.ranks || message.behind || message.nodes) showGrid();
        if (message.generations || message.state) showGenerations();
        if (message.events || isWhole) showEvents();
        if (message.suspects) showSuspects();
        if (message.points) showCharts();
        showHead();
        showFigures();
        if (opened >= cells.length) close();
    }

    function link(words, kind) {
        put($('link'), words);
        $('link').className = 'link ' + kind;
    }

    function connect() {
        const source = new EventSource('events');
        source.onmessage = (event) => {
            tries = 0;
            lost = null;
            take(JSON.parse(event.data));
            if (isOver()) {
                source.close();
                link(`the run has ended, ${clock(Date.now() / 1000)}`, '');
                if (opened >= 0) clearTimeout(timer);
            } else {
                link('live', 'live');
            }
        };
        source.onerror = () => {
            source.close();
            lost = lost || Date.now() / 1000;
            link(`no connection since ${clock(lost)}`, 'lost');
            setTimeout(connect, RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]);
        };
    }

    $('grid').addEventListener('keydown', gridKey);
    $('grid').addEventListener('click', (event) => {
        const button = event.target.closest('button');
        if (!button) return;
        const next = Number(button.dataset.at);
        cells[at].button.tabIndex = -1;
        at = next;
        button.tabIndex = 0;
        open(next);
    });
    $('close').addEventListener('click', close);
    document.addEventListener('keydown', (event) => { if (event.key === 'Escape') close(); });
    window.addEventListener('resize', showCharts);

    const data = $('data');
    if (data) {
        isFile = true;
        take(JSON.parse(data.textContent));
        link(`as it was ${clock(run.at || 0, true)}`, '');
    } else {
        connect();
    }
})();
